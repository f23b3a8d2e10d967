package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/explain"
)

const blanks = "                                                                                                                                "

// spaces returns n blanks.
func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Line builds one line of an exact width. Its methods return it, for chaining.
type Line struct {
	Selected bool // draw the following cells with the background of the selection

	theme *Theme
	buf   []byte
	width int
	max   int
}

// NewLine returns an empty line of w cells.
func NewLine(t *Theme, w int) *Line { return &Line{theme: t, max: w} }

// Used returns the number of cells in use.
func (l *Line) Used() int { return l.width }

// Rest returns the number of cells that are left.
func (l *Line) Rest() int { return l.max - l.width }

// Put adds a text; its end is cut if there is not enough space.
func (l *Line) Put(tone explain.Tone, s string) *Line {
	if l.width >= l.max || s == "" {
		return l
	}
	s = Clean(s)
	if l.theme.ASCII {
		s = toASCII(s)
	}
	n := Width(s)
	if n > l.Rest() {
		s = CutEnd(s, l.Rest())
		if l.theme.ASCII {
			s = toASCII(s)
		}
		n = Width(s)
	}
	style := &l.theme.plain[tone]
	if l.Selected {
		style = &l.theme.selected[tone]
	}
	l.buf = append(append(append(l.buf, style.begin...), s...), style.end...)
	l.width += n
	return l
}

// Skip adds n blank cells.
func (l *Line) Skip(n int) *Line {
	n = min(n, l.Rest())
	if n <= 0 {
		return l
	}
	if l.Selected {
		return l.Put(explain.Text, spaces(n))
	}
	l.buf = append(l.buf, spaces(n)...)
	l.width += n
	return l
}

// To adds blanks up to column x, if the line is shorter.
func (l *Line) To(x int) *Line { return l.Skip(x - l.width) }

// Cell puts a text into w cells, aligned at the left.
func (l *Line) Cell(tone explain.Tone, s string, w int) *Line {
	x := l.width + w
	return l.Put(tone, CutEnd(Clean(s), w)).To(x)
}

// CellRight puts a text into w cells, aligned at the right.
func (l *Line) CellRight(tone explain.Tone, s string, w int) *Line {
	s = CutEnd(Clean(s), w)
	return l.Skip(w-Width(s)).Put(tone, s)
}

// Also puts one more fact after a separator, or nothing if the fact does not fit.
func (l *Line) Also(tone explain.Tone, s string) *Line {
	if s == "" || Width(Clean(s))+3 > l.Rest() {
		return l
	}
	return l.Put(explain.Faint, " · ").Put(tone, s)
}

// Styled puts a text that already has styles, such as the output of a component of bubbles. It puts
// nothing if the text does not fit.
func (l *Line) Styled(s string) *Line {
	if n := ansi.StringWidth(s); n <= l.Rest() {
		l.buf = append(l.buf, s...)
		l.width += n
	}
	return l
}

// Append puts the cells of another line if they fit.
func (l *Line) Append(other *Line) *Line {
	if other.width <= l.Rest() {
		l.buf = append(l.buf, other.buf...)
		l.width += other.width
	}
	return l
}

// Right puts a text at the end of the line, with a cell of margin. It puts nothing if there
// would be less than two cells before the text.
func (l *Line) Right(tone explain.Tone, s string) *Line {
	if n := Width(Clean(s)); s != "" && n+3 <= l.Rest() {
		return l.To(l.max-n-1).Put(tone, s)
	}
	return l
}

// String returns the line, filled with blanks.
func (l *Line) String() string {
	l.Skip(l.Rest())
	return string(l.buf)
}
