package handlers

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// objectList lists the objects that a handler was considered for, each with the decision.
type objectList struct {
	screen  *parts.Screen
	handler string
	filter  parts.Filter

	decided  explain.Derived[decision] // decisions about all objects; an entry without an object does not match the filter
	rows     []decision
	list     render.List
	selected inspect.Ref

	state   *explain.State // state from which the rows were collected
	matched string         // the filter that the rows match
}

// decision is the operator's decision about the handler on an object.
type decision struct {
	object    *inspect.Object
	state     *inspect.HandlerState
	notCalled bool
}

func newObjectList(s *parts.Screen, handler string) *objectList {
	x := &objectList{screen: s, handler: handler, filter: parts.NewFilter()}
	x.refresh()
	return x
}

func (x *objectList) refresh() {
	if x.state == x.screen.State && x.matched == x.filter.Text() {
		return
	}
	if x.matched != x.filter.Text() {
		x.decided.Reset()
	}
	x.state, x.matched = x.screen.State, x.filter.Text()
	x.collect()
	if i := x.list.Cursor; i < len(x.rows) && explain.SameObject(x.rows[i].object.Ref, x.selected) {
		return
	}
	for i, d := range x.rows {
		if explain.SameObject(d.object.Ref, x.selected) {
			x.list.Cursor = i
			return
		}
	}
	x.move(0)
}

// collect collects the rows: first the objects that the handler is called for.
func (x *objectList) collect() {
	query := x.filter.Query("state", "namespace", "name", "because")
	x.decided.Update(x.state, func(o *inspect.Object) decision {
		h := o.Handler(x.handler)
		if h == nil || len(query) > 0 && !query.Matches(explain.HandlerWordOf(h).Text, o.Namespace, o.Name, strings.ToLower(explain.Mismatch(h.Why)), explain.QualifiedName(o.Ref)) {
			return decision{}
		}
		return decision{o, h, explain.IsNotCalled(h)}
	})
	x.rows = x.rows[:0]
	for _, notCalled := range []bool{false, true} {
		for _, d := range x.decided.Values {
			if d.object != nil && d.notCalled == notCalled {
				x.rows = append(x.rows, d)
			}
		}
	}
}

func (x *objectList) move(d int) {
	x.list.Move(d, len(x.rows))
	if o := x.current(); o != nil {
		x.selected = o.Ref
	}
}

// current returns the object at the cursor, or nil.
func (x *objectList) current() *inspect.Object {
	if x.list.Cursor < len(x.rows) {
		return x.rows[x.list.Cursor].object
	}
	return nil
}

func (x *objectList) click(y int) (again bool) {
	i := x.list.Offset + y - 1
	if y < 1 || i >= len(x.rows) {
		return false
	}
	again = i == x.list.Cursor
	x.list.Cursor = i
	x.move(0)
	return again
}

func (x *objectList) summary(l *render.Line) {
	l.Put(explain.Title, x.handler).Put(explain.Dim, " on "+explain.Count(len(x.rows), "object"))
	counts := map[explain.Word]int{}
	for _, d := range x.rows {
		counts[explain.HandlerWordOf(d.state)]++
	}
	words := []explain.Word{explain.HandlerWord(inspect.PhaseFailed), explain.HandlerWord(inspect.PhaseRetrying), explain.WaitingWord()}
	for _, phase := range []inspect.HandlerPhase{inspect.PhaseRunning, inspect.PhaseDone, inspect.PhaseFiltered} {
		words = append(words, explain.HandlerWord(phase))
	}
	for _, w := range words {
		if counts[w] > 0 {
			l.Skip(3).Put(w.Tone, w.Glyph+" "+explain.Thousands(counts[w])+" "+w.Text)
		}
	}
	if x.filter.Visible() {
		x.filter.Draw(x.screen, l.Skip(3))
	}
}

// The columns of the table.
const (
	objectStateColumn = iota
	objectNamespaceColumn
	objectNameColumn
	objectTryColumn
	objectNextColumn
	objectBecauseColumn
)

func (x *objectList) view(w, h int) string {
	b := x.screen.Block(w, h)
	if len(x.rows) == 0 {
		b.Blank()
		if x.filter.Text() != "" {
			b.Text(explain.Dim, "  nothing matches; esc shows all")
		} else {
			b.Text(explain.Dim, "  there is no object that it could run on")
		}
		return b.String()
	}
	longest := x.screen.State.Longest
	table := render.Table{
		Columns: []render.Column{
			objectStateColumn:     {Title: "STATE", Width: 13, State: true},
			objectNamespaceColumn: {Title: "NAMESPACE", Width: 9, Grow: 1, Max: longest.Namespace, Drop: 2},
			objectNameColumn:      {Title: "NAME", Width: 14, Fit: longest.Name, Cut: render.CutMiddle},
			objectTryColumn:       {Title: "TRY", Width: 4, Drop: 3, Right: true},
			objectNextColumn:      {Title: "NEXT", Width: 7, Right: true},
			objectBecauseColumn:   {Title: "BECAUSE", Width: 18, Grow: 1, Drop: 1},
		},
		Rows: len(x.rows),
		Cell: func(row, column int) render.Cell { return x.cell(x.rows[row], column) },
	}
	table.Draw(b, &x.list)
	return b.String()
}

func (x *objectList) cell(d decision, column int) render.Cell {
	switch column {
	case objectStateColumn:
		return parts.StateCell(d.state)
	case objectNamespaceColumn:
		return render.Cell{Tone: explain.Dim, Text: d.object.Namespace}
	case objectNameColumn:
		return render.Cell{Text: d.object.Name}
	case objectTryColumn:
		return parts.TryCell(d.state)
	case objectNextColumn:
		return parts.NextCell(x.screen, d.object, d.state)
	}
	return parts.BecauseCell(x.screen, d.object, d.state)
}

// drawDecision draws the decision about one object in one line.
func drawDecision(s *parts.Screen, b *render.Block, d decision) {
	word := explain.HandlerWordOf(d.state)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1)
	name := max(20, min(s.State.Longest.Name, l.Rest()/2))
	l.Cell(explain.Text, render.CutMiddle(render.Clean(d.object.Name), name), name).Skip(1)
	if !explain.IsNotCalled(d.state) {
		l.Cell(word.Tone, word.Text, 9)
	}
	b.End(l.Put(explain.Dim, parts.Note(s, d.object, d.state)))
}
