package resources

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Selected returns the object that the cursor is on, or nil.
func (p *Page) Selected() *inspect.Object {
	if i := p.list.Cursor; i < len(p.rows) {
		return p.rows[i].object
	}
	return nil
}

// restoreCursor moves the cursor to the selected object. If the object was deleted, the cursor stays on the row.
func (p *Page) restoreCursor() {
	if p.selected.Name == "" && len(p.rows) > 0 {
		p.list.Cursor = 0
		p.selectObject(+1)
		return
	}
	if i := p.list.Cursor; i < len(p.rows) && p.rows[i].object != nil && explain.SameObject(p.rows[i].object.Ref, p.selected) {
		p.selected = p.rows[i].object.Ref
		return
	}
	for i, r := range p.rows {
		if r.object != nil && explain.SameObject(r.object.Ref, p.selected) {
			p.list.Cursor = i
			return
		}
	}
	p.list.Move(0, len(p.rows))
	if p.filter.Text() != p.filtered {
		p.list.Cursor = 0 // the first match
	}
	wanted := p.selected
	p.selectObject(+1)
	if !explain.AllListed(p.screen.State.Snapshot) {
		p.selected = wanted // the object may not be listed yet
	}
}

// selectObject selects the object at the cursor. If the cursor is on the head of a group, it first moves to an
// object, preferably in the direction d.
func (p *Page) selectObject(d int) {
	for _, step := range []int{d, -d} {
		for i := p.list.Cursor; i >= 0 && i < len(p.rows); i += step {
			if o := p.rows[i].object; o != nil {
				p.list.Cursor, p.selected = i, o.Ref
				return
			}
		}
	}
}

// Move moves the cursor by d rows.
func (p *Page) Move(d int) {
	p.list.Move(d, len(p.rows))
	if d < 0 {
		if p.list.Cursor == 0 {
			p.list.Offset = 0 // shows the head of the first group
		}
		p.selectObject(-1)
	} else {
		p.selectObject(+1)
	}
}

// Click selects the object at a place. It reports whether the object was already selected.
func (p *Page) Click(x, y int) (again bool) {
	i := p.list.Offset + y - 1
	if !p.split.List.Contains(x, y) || y < 1 || i >= len(p.rows) || p.rows[i].object == nil {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor, p.selected = i, p.rows[i].object.Ref
	return again
}
