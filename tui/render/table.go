package render

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
)

// Cell is a cell of a table.
type Cell struct {
	Tone explain.Tone
	Text string
}

// Table is a list with columns. It requests only the cells of visible rows, so that its cost
// depends on the size of the screen, not on the number of rows.
type Table struct {
	Columns []Column
	Rows    int

	// Cell returns the cell in a row and a column.
	Cell func(row, column int) Cell

	// Head returns the text of a row that is the head of a group. Optional.
	Head func(row int) (string, bool)

	// Note returns the text of a row without columns, which belongs to the row above it. Optional.
	Note func(row int) (Cell, bool)
}

// margin is the width of the cursor and the scroll bar of a table, in addition to its columns.
const margin = 3

// Need returns the minimum width in which no column is dropped.
func (t *Table) Need() int { return need(t.Columns) + margin }

// Full returns the width in which all columns have their maximum width, if the growth of all
// columns has a limit.
func (t *Table) Full() int { return full(t.Columns) + margin }

// Draw adds the titles and the visible rows to a block.
func (t *Table) Draw(b *Block, list *List) {
	if b.Rest() == 0 {
		return
	}
	layOut(t.Columns, b.W-margin)
	b.End(t.titles(b.Line()))
	h := b.Rest()
	if h == 0 {
		return
	}
	list.Fit(t.Rows, h)
	thumb := thumbOf(list.Offset, t.Rows, h)
	for i := range min(h, t.Rows-list.Offset) {
		row := list.Offset + i
		l := b.Line()
		if head, ok := t.head(row); ok {
			l.Skip(1).Put(explain.Title, head)
		} else {
			t.row(l, row, row == list.Cursor)
		}
		if thumb.has(i) {
			l.To(b.W-1).Put(explain.Dim, "┃")
		}
		b.End(l)
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
			l.CellRight(explain.Dim, c.Title, c.width)
		} else {
			l.Cell(explain.Dim, c.Title, c.width)
		}
		l.Skip(gap)
	}
	return l
}

func (t *Table) row(l *Line, row int, current bool) {
	if current {
		l.Selected = true
		l.Put(explain.Accent, "▌").Skip(1)
	} else {
		l.Skip(2)
	}
	if t.Note != nil {
		if note, ok := t.Note(row); ok {
			l.Skip(2).Put(note.Tone, CutEnd(Clean(note.Text), max(0, l.Rest()-1)))
			return
		}
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

// cell puts one cell on a line. For a state that is good news, only the glyph is coloured, so that
// problems stand out.
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
	case c.State && (cell.Tone == explain.OK || cell.Tone == explain.Busy):
		glyph, word, _ := strings.Cut(text, " ")
		l.Put(cell.Tone, glyph).Skip(1).Put(explain.Dim, word)
	case c.Right:
		l.CellRight(cell.Tone, text, c.width)
	default:
		l.Put(cell.Tone, text)
	}
}

// thumb is the part of a scroll bar that shows the position of the window.
type thumb struct{ top, size int }

// thumbOf returns no thumb if all rows are visible.
func thumbOf(offset, n, h int) thumb {
	if n <= h || h == 0 {
		return thumb{}
	}
	size := max(1, h*h/n)
	return thumb{top: offset * (h - size) / (n - h), size: size}
}

func (t thumb) has(line int) bool { return line >= t.top && line < t.top+t.size }
