package render

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
)

// Block collects lines of one width, up to a height. It drops further lines.
type Block struct {
	Theme *Theme
	W, H  int

	lines []string
	line  Line
}

// NewBlock returns an empty block.
func NewBlock(t *Theme, w, h int) *Block {
	h = max(h, 0)
	return &Block{Theme: t, W: w, H: h, lines: make([]string, 0, min(h, 128))}
}

// Rest returns the number of lines that still fit.
func (b *Block) Rest() int { return b.H - len(b.lines) }

// Len returns the number of lines so far.
func (b *Block) Len() int { return len(b.lines) }

// Line begins a line. Add the line with [Block.End] before you begin the next line.
func (b *Block) Line() *Line {
	b.line = Line{theme: b.Theme, max: b.W, buf: b.line.buf[:0]}
	return &b.line
}

// End adds the line.
func (b *Block) End(l *Line) {
	if b.Rest() > 0 {
		b.lines = append(b.lines, l.String())
	}
}

// Add adds lines that have the block's width.
func (b *Block) Add(lines ...string) {
	b.lines = append(b.lines, lines[:max(0, min(len(lines), b.Rest()))]...)
}

// Blank adds an empty line.
func (b *Block) Blank() { b.End(b.Line()) }

// Text adds a line with one text.
func (b *Block) Text(tone explain.Tone, s string) { b.End(b.Line().Put(tone, s)) }

// Prose adds wrapped text with a margin of one cell, in at most n lines.
func (b *Block) Prose(tone explain.Tone, s string, n int) {
	for _, s := range Wrap(s, b.W-2, min(n, b.Rest())) {
		b.End(b.Line().Skip(1).Put(tone, s))
	}
}

// Rule adds a horizontal line with a title in it, and a note at the right if it fits.
func (b *Block) Rule(title, note string) {
	l := b.Line().Put(explain.Faint, "─")
	if title != "" {
		l.Put(explain.Dim, " "+CutEnd(Clean(title), max(1, b.W-6))+" ")
	}
	n := Width(Clean(note)) + 3
	if note == "" || l.Rest() < n+3 {
		b.End(l.Put(explain.Faint, strings.Repeat("─", max(0, l.Rest()))))
		return
	}
	l.Put(explain.Faint, strings.Repeat("─", max(0, l.Rest()-n)))
	b.End(l.Put(explain.Dim, " "+note+" ").Put(explain.Faint, "─"))
}

// Fill adds empty lines up to the height and returns all lines.
func (b *Block) Fill() []string {
	for b.Rest() > 0 {
		b.Blank()
	}
	return b.lines
}

// Lines returns the lines so far.
func (b *Block) Lines() []string { return b.lines }

// String returns all lines, with empty lines added up to the height.
func (b *Block) String() string { return strings.Join(b.Fill(), "\n") }
