package canvas

import (
	"strings"

	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// Cell is the content of a table's cell.
type Cell struct {
	Token theme.Token
	Text  string
}

// Table is a list with columns. It asks for the cells of the visible rows and of no
// others, so that its cost depends on the screen and not on the data.
type Table struct {
	Columns []Column
	Rows    int

	// Cell tells what is in a row and a column.
	Cell func(row, column int) Cell

	// Head is the text of a row that is the head of a group, if it is one. Optional.
	Head func(row int) (string, bool)

	// Blurred tells that the cursor is elsewhere: the row is marked, but not lit.
	Blurred bool
}

// Draw fills what is left of a pane.
func (t *Table) Draw(p *Pane, list *List) {
	if p.Left() == 0 {
		return
	}
	layOut(t.Columns, p.W-3)
	p.End(t.titles(p.Line()))
	h := p.Left()
	if h == 0 {
		return
	}
	list.Fit(t.Rows, h)
	thumb := thumbOf(list.Offset, t.Rows, h)
	for i := range min(h, t.Rows-list.Offset) {
		row := list.Offset + i
		l := p.Line()
		if head, ok := t.head(row); ok {
			l.Skip(1).Put(theme.Title, head)
		} else {
			t.row(l, row, row == list.Cursor)
		}
		if thumb.has(i) {
			l.To(p.W-1).Put(theme.Dim, "┃")
		}
		p.End(l)
	}
}

func (t *Table) head(row int) (string, bool) {
	if t.Head == nil {
		return "", false
	}
	return t.Head(row)
}

func (t *Table) titles(l *Line) *Line {
	l.Skip(2)
	for _, c := range t.Columns {
		if c.width == 0 {
			continue
		}
		if c.Right {
			l.CellRight(theme.Dim, c.Title, c.width)
		} else {
			l.Cell(theme.Dim, c.Title, c.width)
		}
		l.Skip(gap)
	}
	return l
}

func (t *Table) row(l *Line, row int, current bool) {
	if current {
		l.Selected = !t.Blurred
		l.Put(theme.Accent, "▌").Skip(1)
	} else {
		l.Skip(2)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.width == 0 {
			continue
		}
		x := l.Used()
		t.cell(l, c, t.Cell(row, i))
		l.To(x + c.width).Skip(gap)
	}
}

// cell puts one cell. Of a state that is good news only the glyph has a colour: a green
// wall would hide what needs somebody.
func (t *Table) cell(l *Line, c *Column, cell Cell) {
	text := Clean(cell.Text)
	if Width(text) > c.width {
		cut := c.Cut
		if cut == nil {
			cut = CutEnd
		}
		text = cut(text, c.width)
	}
	switch {
	case c.State && (cell.Token == theme.OK || cell.Token == theme.Run):
		glyph, word, _ := strings.Cut(text, " ")
		l.Put(cell.Token, glyph).Skip(1).Put(theme.Dim, word)
	case c.Right:
		l.CellRight(cell.Token, text, c.width)
	default:
		l.Put(cell.Token, text)
	}
}

// thumb is the part of a scroll bar that shows where the window is.
type thumb struct{ top, size int }

// thumbOf is empty if everything is in the window anyway.
func thumbOf(offset, n, h int) thumb {
	if n <= h || h == 0 {
		return thumb{}
	}
	size := max(1, h*h/n)
	return thumb{top: offset * (h - size) / (n - h), size: size}
}

func (t thumb) has(line int) bool { return line >= t.top && line < t.top+t.size }
