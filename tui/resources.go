package tui

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// resourcesView is the list of live objects, with the detail of the selected one.
type resourcesView struct {
	common   *common
	filter   filter
	problems bool // only what needs somebody
	byState  bool
	grouped  bool

	rows     []row
	matched  int
	filtered string // the filter that the rows are of
	list     canvas.List
	cursor   inspect.Ref // the cursor sticks to the object, not to the row
	layout   layout      // as drawn last
}

// row is an object, or the head of a group.
type row struct {
	object *inspect.Object
	head   string
}

func newResourcesView(c *common) *resourcesView {
	v := &resourcesView{common: c}
	v.changed()
	return v
}

func (v *resourcesView) changed() {
	v.rows = v.rows[:0]
	v.matched = 0
	filter := v.filter.words()
	kind, group := "", -1
	for _, o := range v.ordered() {
		if v.problems && !wantsAttention(o) || len(filter) > 0 && !found(o, filter) {
			continue
		}
		if v.grouped && kind != o.Resource {
			v.endGroup(group, kind)
			kind, group = o.Resource, len(v.rows)
			v.rows = append(v.rows, row{})
		}
		v.rows = append(v.rows, row{object: o})
		v.matched++
	}
	v.endGroup(group, kind)
	v.stick()
	v.filtered = v.filter.text
}

// endGroup writes the head of a group, now that its size is known.
func (v *resourcesView) endGroup(head int, kind string) {
	if head >= 0 {
		v.rows[head].head = fmt.Sprintf("%s  %s", kind, words.Thousands(len(v.rows)-head-1))
	}
}

// found tells whether a filter finds an object: by name, kind, state, or handler.
func found(o *inspect.Object, filter []string) bool {
	handler := ""
	if h := verdict.Active(o); h != nil {
		handler = h.ID
	}
	return matches(filter, qualified(o.Ref), o.Resource, o.Short, string(o.State), handler)
}

// ordered are all objects: by name, where nothing moves by itself; or worst first.
func (v *resourcesView) ordered() []*inspect.Object {
	all := v.common.world.objects
	if !v.byState {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *inspect.Object) int {
		if v.grouped && a.Resource != b.Resource {
			return 0 // groups stay together, which is how they are ordered
		}
		return cmp.Compare(urgencyOf(a.State), urgencyOf(b.State))
	})
	return all
}

// stick finds the row of the object that the cursor is on. If it is not there any more,
// the cursor stays where it was, on whatever came there.
func (v *resourcesView) stick() {
	if v.cursor.Name == "" && len(v.rows) > 0 {
		v.list.Cursor = 0
		v.land(+1)
		return
	}
	if at := v.list.Cursor; at < len(v.rows) && v.rows[at].object != nil && same(v.rows[at].object.Ref, v.cursor) {
		v.cursor = v.rows[at].object.Ref
		return
	}
	for i, r := range v.rows {
		if r.object != nil && same(r.object.Ref, v.cursor) {
			v.list.Cursor = i
			return
		}
	}
	v.list.Move(0, len(v.rows))
	if v.filter.text != v.filtered {
		v.list.Cursor = 0 // of what one is looking for, the first
	}
	wanted := v.cursor
	v.land(+1)
	if !v.common.world.listed() {
		v.cursor = wanted // it may come yet
	}
}

// land puts the cursor on an object if it is on the head of a group, preferably in the
// direction d.
func (v *resourcesView) land(d int) {
	for _, step := range []int{d, -d} {
		for i := v.list.Cursor; i >= 0 && i < len(v.rows); i += step {
			if o := v.rows[i].object; o != nil {
				v.list.Cursor, v.cursor = i, o.Ref
				return
			}
		}
	}
}

func (v *resourcesView) move(d int) {
	v.list.Move(d, len(v.rows))
	if d < 0 {
		if v.list.Cursor == 0 {
			v.list.Offset = 0 // the head of the first group is seen again
		}
		v.land(-1)
	} else {
		v.land(+1)
	}
}

func (v *resourcesView) nextProblem() {
	for i := range v.rows {
		at := (v.list.Cursor + 1 + i) % len(v.rows)
		if o := v.rows[at].object; o != nil && wantsAttention(o) {
			v.list.Cursor, v.cursor = at, o.Ref
			return
		}
	}
}

func (v *resourcesView) selected() *inspect.Object {
	if at := v.list.Cursor; at < len(v.rows) {
		return v.rows[at].object
	}
	return nil
}

func (v *resourcesView) page() int       { return v.layout.list.h - 1 }
func (v *resourcesView) search() *filter { return &v.filter }

func (v *resourcesView) click(x, y int) (again bool) {
	at := v.list.Offset + y - 1
	if !v.layout.list.has(x, y) || y < 1 || at >= len(v.rows) || v.rows[at].object == nil {
		return false
	}
	again = at == v.list.Cursor
	v.list.Cursor, v.cursor = at, v.rows[at].object.Ref
	return again
}

func (v *resourcesView) answer(l *canvas.Line, short bool) {
	w := v.common.world
	all := len(w.objects)
	if all == 0 {
		v.common.answerStart(l)
		return
	}
	// What one has typed must be seen whole, so the words of the numbers give way.
	narrowed := v.filter.used() || v.problems
	drawSlots(l, w.counts, len(words.Thousands(all)), short || narrowed && v.common.width < wideFrom)
	switch {
	case short:
		return
	case narrowed:
		v.narrowed(l, all)
		return
	}
	count := words.Count(all, "object")
	next := ""
	if !w.next.IsZero() && w.held() == "" {
		next = "next retry " + words.In(w.next.Sub(v.common.now))
	}
	if canvas.Width(next)+canvas.Width(count)+4 <= l.Rest() {
		l.Put(theme.Dim, next)
	}
	l.Right(theme.Dim, count)
}

// narrowed says what is being looked for, and how much of it there is.
func (v *resourcesView) narrowed(l *canvas.Line, all int) {
	of := fmt.Sprintf("%s of %s", words.Thousands(v.matched), words.Thousands(all))
	what := v.common.line(l.Rest() - len(of) - 4)
	if v.problems {
		what.Put(theme.Accent, "! needs you").Skip(1)
	}
	if v.filter.used() {
		v.filter.draw(what)
	}
	l.To(l.Used() + l.Rest() - what.Used() - len(of) - 3)
	l.Append(what).Skip(2).Put(theme.Dim, of)
}

func (v *resourcesView) body(w, h int) []string {
	c := v.common
	if len(c.world.objects) == 0 {
		return c.start(w, h)
	}
	v.layout = c.split(w, h, 6)
	p := c.pane(v.layout.list.w, v.layout.list.h)
	if len(v.rows) == 0 {
		p.Blank()
		p.Text(theme.Dim, "  nothing matches; esc shows all")
	} else {
		v.table(p.W).Draw(p, &v.list)
	}
	d := c.pane(v.layout.detail.w, v.layout.detail.h)
	if o := v.selected(); o != nil && d.H > 0 {
		if v.layout.beside {
			c.drawPane(d, o)
		} else {
			c.drawStrip(d, o)
		}
	}
	return v.layout.join(c, "why", p.Fill(), d.Fill())
}

func (v *resourcesView) table(w int) *canvas.Table {
	name := 17
	if w < tinyWidth {
		name = 12
	}
	kind := 4
	if s := v.common.world.state.Snapshot; s != nil {
		for _, r := range s.Served {
			kind = min(max(kind, len(r.Short)), 10)
		}
	}
	columns := []canvas.Column{
		{Title: "STATE", Width: 10, State: true},
		{Title: "KIND", Width: kind, Drop: 5},
		{Title: "NAMESPACE", Width: 9, Drop: 3},
		{Title: "NAME", Width: name, Grow: 2, Max: 44, Cut: canvas.CutMiddle},
		{Title: "HANDLER", Width: 8, Grow: 1, Max: 24, Drop: 2},
		{Title: "TRY", Width: 4, Drop: 4, Right: true},
		{Title: "NEXT", Width: 7, Drop: 1, Right: true},
		{Title: "AGE", Width: 4, Drop: 6, Right: true},
	}
	if v.grouped {
		columns[1].Width, columns[1].Drop = w, 9 // the heads say it
	}
	return &canvas.Table{
		Columns: columns,
		Rows:    len(v.rows),
		Cell:    func(row, column int) canvas.Cell { return v.common.cell(v.rows[row].object, column) },
		Head: func(row int) (string, bool) {
			return v.rows[row].head, v.rows[row].object == nil
		},
	}
}

// cell is the content of a column of the list of objects.
func (c *common) cell(o *inspect.Object, column int) canvas.Cell {
	switch column {
	case 0:
		w := words.Object(o.State)
		return canvas.Cell{Token: w.Token, Text: w.String()}
	case 1:
		return canvas.Cell{Token: theme.Dim, Text: o.Short}
	case 2:
		return canvas.Cell{Token: theme.Dim, Text: o.Namespace}
	case 3:
		return canvas.Cell{Text: o.Name}
	case 7:
		return canvas.Cell{Token: theme.Dim, Text: words.Ago(c.since(o.Created))}
	}
	h := verdict.Active(o)
	if h == nil {
		return canvas.Cell{}
	}
	switch column {
	case 4:
		return canvas.Cell{Text: c.world.nameOf(h)}
	case 5:
		return canvas.Cell{Token: theme.Dim, Text: verdict.Try(h)}
	}
	return c.next(h)
}

// next is when a handler will be called again, as a cell.
func (c *common) next(h *inspect.HandlerState) canvas.Cell {
	switch {
	case h.State == inspect.PhaseFailed:
		return canvas.Cell{Token: theme.Dim, Text: "–"}
	case h.Next.IsZero():
		return canvas.Cell{}
	case c.world.held() != "":
		return canvas.Cell{Token: theme.Dim, Text: "held"}
	case h.State == inspect.PhaseRetrying:
		return canvas.Cell{Token: theme.Warn, Text: words.In(h.Next.Sub(c.now))}
	}
	return canvas.Cell{Token: theme.Dim, Text: words.In(h.Next.Sub(c.now))}
}
