package canvas

import (
	"strings"

	"github.com/kopf-dev/kopf/tui/internal/theme"
)

const blanks = "                                                                                                                                "

// Spaces are n cells of nothing.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Line collects one line of an exact width. Its methods return it, for chaining.
type Line struct {
	Selected bool // what is put from now on has the background of the selection

	theme *theme.Theme
	buf   []byte
	width int
	max   int
}

// NewLine makes an empty line of w cells.
func NewLine(t *theme.Theme, w int) *Line { return &Line{theme: t, max: w} }

// Used is the number of cells that are taken; Rest is what is left.
func (l *Line) Used() int { return l.width }

// Rest is the number of cells that are left.
func (l *Line) Rest() int { return l.max - l.width }

// Put adds a text; its end is cut if there is no room.
func (l *Line) Put(token theme.Token, s string) *Line {
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
	style := l.theme.Style(token, l.Selected)
	l.buf = append(l.buf, style...)
	l.buf = append(l.buf, s...)
	if style != "" {
		l.buf = append(l.buf, theme.Reset...)
	}
	l.width += n
	return l
}

// Skip leaves n cells free.
func (l *Line) Skip(n int) *Line {
	n = min(n, l.Rest())
	if n <= 0 {
		return l
	}
	if l.Selected {
		return l.Put(theme.Text, Spaces(n))
	}
	l.buf = append(l.buf, Spaces(n)...)
	l.width += n
	return l
}

// To goes to column x, if the line is not there yet.
func (l *Line) To(x int) *Line { return l.Skip(x - l.width) }

// Cell puts a text into w cells, at the left.
func (l *Line) Cell(token theme.Token, s string, w int) *Line {
	x := l.width + w
	return l.Put(token, CutEnd(Clean(s), w)).To(x)
}

// CellRight puts a text into w cells, at the right.
func (l *Line) CellRight(token theme.Token, s string, w int) *Line {
	s = CutEnd(Clean(s), w)
	return l.Skip(w-Width(s)).Put(token, s)
}

// Also puts one more fact of several, or nothing if it does not fit whole.
func (l *Line) Also(token theme.Token, s string) *Line {
	if s == "" || Width(Clean(s))+3 > l.Rest() {
		return l
	}
	return l.Put(theme.Faint, " · ").Put(token, s)
}

// Append puts what is on another line so far.
func (l *Line) Append(other *Line) *Line {
	if other.width <= l.Rest() {
		l.buf = append(l.buf, other.buf...)
		l.width += other.width
	}
	return l
}

// Right puts a text at the end of the line, with a cell of margin, or not at all if it
// does not fit with two cells before it.
func (l *Line) Right(token theme.Token, s string) *Line {
	if n := Width(Clean(s)); s != "" && n+3 <= l.Rest() {
		return l.To(l.max-n-1).Put(token, s)
	}
	return l
}

// String is the line, filled with blanks.
func (l *Line) String() string {
	l.Skip(l.Rest())
	return string(l.buf)
}
