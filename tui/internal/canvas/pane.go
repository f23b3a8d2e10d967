package canvas

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// Pane collects lines of one width, up to a height. What does not fit is not there.
type Pane struct {
	Theme *theme.Theme
	W, H  int

	lines []string
	line  Line
}

// NewPane makes an empty pane.
func NewPane(t *theme.Theme, w, h int) *Pane {
	h = max(h, 0)
	return &Pane{Theme: t, W: w, H: h, lines: make([]string, 0, min(h, 128))}
}

// Left is the number of lines that still fit.
func (p *Pane) Left() int { return p.H - len(p.lines) }

// Len is the number of lines so far.
func (p *Pane) Len() int { return len(p.lines) }

// Line begins a line. There is one at a time: it must be ended before the next.
func (p *Pane) Line() *Line {
	p.line = Line{theme: p.Theme, max: p.W, buf: p.line.buf[:0]}
	return &p.line
}

// End adds a line.
func (p *Pane) End(l *Line) {
	if p.Left() > 0 {
		p.lines = append(p.lines, l.String())
	}
}

// Add takes over lines that have the pane's width.
func (p *Pane) Add(lines ...string) {
	p.lines = append(p.lines, lines[:max(0, min(len(lines), p.Left()))]...)
}

// Blank adds an empty line.
func (p *Pane) Blank() { p.End(p.Line()) }

// Text adds a line with one text.
func (p *Pane) Text(token theme.Token, s string) { p.End(p.Line().Put(token, s)) }

// Prose adds wrapped text with a cell of margin, at most n lines.
func (p *Pane) Prose(token theme.Token, s string, n int) {
	for _, s := range Wrap(s, p.W-2, min(n, p.Left())) {
		p.End(p.Line().Skip(1).Put(token, s))
	}
}

// Rule adds a line across with a title in it, and maybe a note at its right: the only
// ornament there is.
func (p *Pane) Rule(title, note string) {
	l := p.Line().Put(theme.Faint, "─")
	if title != "" {
		l.Put(theme.Dim, " "+CutEnd(Clean(title), max(1, p.W-6))+" ")
	}
	n := Width(Clean(note)) + 3
	if note == "" || l.Rest() < n+3 {
		p.End(l.Put(theme.Faint, strings.Repeat("─", max(0, l.Rest()))))
		return
	}
	l.Put(theme.Faint, strings.Repeat("─", max(0, l.Rest()-n)))
	p.End(l.Put(theme.Dim, " "+note+" ").Put(theme.Faint, "─"))
}

// Fill adds empty lines to the bottom and returns all lines.
func (p *Pane) Fill() []string {
	for p.Left() > 0 {
		p.Blank()
	}
	return p.lines
}

// Lines returns the lines so far.
func (p *Pane) Lines() []string { return p.lines }

// Beside puts two blocks of equal height next to each other, with a thin line between.
func Beside(t *theme.Theme, left, right []string) []string {
	bar := NewLine(t, 1).Put(theme.Faint, "│").String()
	lines := make([]string, len(left))
	for i := range left {
		lines[i] = left[i] + bar + right[i]
	}
	return lines
}

// Over lays a block of lines of equal width on a frame, with its corner at x and y.
func Over(frame, block []string, x, y int) {
	for i, s := range block {
		if y+i < 0 || y+i >= len(frame) {
			continue
		}
		under := frame[y+i]
		all, n := ansi.StringWidth(under), ansi.StringWidth(s)
		left, right := ansi.Truncate(under, x, ""), ansi.TruncateLeft(under, x+n, "")
		// Half of a wide rune cannot be shown: a blank stands for it.
		if ansi.StringWidth(right) > all-x-n {
			right = ansi.TruncateLeft(under, x+n+1, "")
		}
		left += theme.Reset + Spaces(x-ansi.StringWidth(left))
		right = Spaces(all-x-n-ansi.StringWidth(right)) + right
		frame[y+i] = left + s + theme.Reset + right
	}
}
