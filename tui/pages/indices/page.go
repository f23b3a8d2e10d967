// Package indices is the page with the operator's indices and their contents.
package indices

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of indices.
type Page struct {
	screen *parts.Screen
	w, h   int
	filter parts.Filter

	rows     []*inspect.Index
	list     render.List
	selected string // the id of the selected index
	split    parts.Split

	contents *contents // contents of the selected index; nil if there is none
	opened   bool      // show the contents of the selected index on the whole page
}

// New returns the page.
func New(s *parts.Screen) *Page {
	p := &Page{screen: s, filter: parts.NewFilter()}
	p.Refresh()
	return p
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter of the shown list. The operator applies the filter of an index's contents, as a search.
func (p *Page) Filter() *parts.Filter {
	if p.opened {
		return &p.contents.filter
	}
	return &p.filter
}

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int {
	if p.opened {
		return p.h - 1
	}
	return max(1, p.split.List.H-1)
}

// Refresh collects the rows again.
func (p *Page) Refresh() {
	p.rows = p.rows[:0]
	query := p.filter.Query("index", "key", "value", "resource")
	if s := p.screen.State.Snapshot; s != nil {
		for i := range s.Indices {
			x := &s.Indices[i]
			if query.Matches(strings.ToLower(x.ID), strings.ToLower(x.Key), strings.ToLower(x.Value), strings.Join(x.Resources, " ")) {
				p.rows = append(p.rows, x)
			}
		}
	}
	for i, x := range p.rows {
		if x.ID == p.selected {
			p.list.Cursor = i
		}
	}
	p.list.Move(0, len(p.rows))
	if p.opened && p.screen.State.Live && p.contents.index() == nil {
		p.opened = false // the new code no longer has the index
	}
	if !p.opened {
		p.choose()
	}
}

func (p *Page) choose() {
	x := p.current()
	switch {
	case x == nil:
		p.contents = nil
	case p.contents == nil || p.contents.id != x.ID:
		p.selected, p.contents = x.ID, newContents(p.screen, x.ID)
	}
}

// current returns the index at the cursor, or nil.
func (p *Page) current() *inspect.Index {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return nil
}

// Inquire requests the visible contents of the selected index.
func (p *Page) Inquire() parts.Inquiry {
	if p.contents == nil {
		return nil
	}
	return p.contents.inquire()
}

// Move moves the cursor by d rows.
func (p *Page) Move(d int) {
	if p.opened {
		p.contents.move(d)
		return
	}
	p.list.Move(d, len(p.rows))
	p.choose()
}

// Click selects the row at a place. It reports whether the row was already selected.
func (p *Page) Click(x, y int) (again bool) {
	if p.opened {
		p.contents.click(y)
		return false
	}
	i := p.list.Offset + y - 1
	if !p.split.List.Contains(x, y) || y < 1 || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor = i
	p.choose()
	return again
}

// Summary draws the number of indices, and their sizes.
func (p *Page) Summary(l *render.Line, short bool) {
	s := p.screen.State.Snapshot
	switch {
	case s == nil:
		l.Put(explain.Dim, "no operator has run yet")
		return
	case p.opened:
		p.contents.summary(l, short)
		return
	}
	keys, filling := 0, 0
	for i := range s.Indices {
		keys += s.Indices[i].Keys
		if !explain.IsIndexComplete(s, &s.Indices[i]) {
			filling++
		}
	}
	l.Put(explain.Text, indexCount(len(s.Indices)))
	l.Also(explain.Dim, explain.Count(keys, "key"))
	if filling > 0 {
		l.Also(explain.Warn, "◌ "+explain.Thousands(filling)+" not complete: handlers wait")
	}
	if p.filter.Visible() && !short {
		p.filter.Draw(p.screen, l.Skip(3))
	}
}

// View draws the page.
func (p *Page) View() string {
	if p.opened {
		return p.contents.view(p.w, p.h)
	}
	if len(p.rows) == 0 {
		p.split = parts.Split{}
		return p.viewEmpty()
	}
	table := p.table()
	p.split = parts.NewSplit(p.screen, p.w, p.h, 7, table)
	list := p.screen.Block(p.split.List.W, p.split.List.H)
	table.Draw(list, &p.list)
	detail := p.screen.Block(p.split.Detail.W, p.split.Detail.H)
	if detail.H > 0 {
		p.drawDetail(detail, p.current())
	}
	return p.split.Join(p.screen, p.selected, list, detail)
}

func (p *Page) viewEmpty() string {
	b := p.screen.Block(p.w, p.h)
	b.Blank()
	switch {
	case p.filter.Text() != "":
		b.Text(explain.Dim, "  nothing matches; esc shows all")
	case p.screen.State.Snapshot == nil:
		b.Text(explain.Dim, "  the indices are known when the operator has started")
	default:
		b.Prose(explain.Dim, "  This operator has no indices: kopf.NewIndex makes one, which is filled from all objects of a resource, for handlers to look things up.", 4)
	}
	return b.String()
}

// drawDetail draws the resources of an index, and its first entries.
func (p *Page) drawDetail(b *render.Block, x *inspect.Index) {
	if p.split.SideBySide {
		b.End(b.Line().Skip(1).Put(explain.Title, x.ID))
		b.Blank()
	}
	from := strings.Join(x.Resources, ", ")
	if from == "" {
		from = "nothing: the cluster has no such resource"
	}
	fact := func(name, value string) { b.End(b.Line().Skip(1).Cell(explain.Dim, name, 9).Put(explain.Text, value)) }
	fact("from", from)
	fact("types", "map["+x.Key+"]"+x.Value)
	b.Rule("contents", "enter all")
	p.contents.preview(b)
}

func indexCount(n int) string {
	if n == 1 {
		return "1 index"
	}
	return explain.Thousands(n) + " indices"
}
