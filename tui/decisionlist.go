package tui

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// decisionList are the objects that a handler was considered for, each with the reason
// why it ran, or did not.
type decisionList struct {
	common  *common
	handler string
	filter  filter

	rows   []decision
	list   canvas.List
	cursor inspect.Ref
	seen   *world
	key    string
	height int
}

type decision struct {
	object *inspect.Object
	state  *inspect.HandlerState
}

func newDecisionList(c *common, handler string) *decisionList {
	v := &decisionList{common: c, handler: handler}
	v.changed()
	return v
}

func (v *decisionList) changed() {
	if v.seen == v.common.world && v.key == v.filter.text {
		return
	}
	v.seen, v.key = v.common.world, v.filter.text
	v.rows = v.rows[:0]
	filter := v.filter.words()
	for _, o := range v.common.world.objects {
		for i := range o.Handlers {
			h := &o.Handlers[i]
			if h.ID != v.handler {
				continue
			}
			if matches(filter, qualified(o.Ref), string(h.State), strings.ToLower(verdict.Mismatch(h.Why))) {
				v.rows = append(v.rows, decision{o, h})
			}
			break
		}
	}
	// Those it is called for come first, as everywhere.
	slices.SortStableFunc(v.rows, func(a, b decision) int {
		switch x, y := isOut(a.state), isOut(b.state); {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	if at := v.list.Cursor; at < len(v.rows) && same(v.rows[at].object.Ref, v.cursor) {
		return
	}
	for i, d := range v.rows {
		if same(d.object.Ref, v.cursor) {
			v.list.Cursor = i
			return
		}
	}
	v.move(0)
}

func (v *decisionList) move(d int) {
	v.list.Move(d, len(v.rows))
	if o := v.selected(); o != nil {
		v.cursor = o.Ref
	}
}

func (v *decisionList) selected() *inspect.Object {
	if v.list.Cursor < len(v.rows) {
		return v.rows[v.list.Cursor].object
	}
	return nil
}

func (v *decisionList) click(y int) (again bool) {
	at := v.list.Offset + y - 1
	if y < 1 || at >= len(v.rows) {
		return false
	}
	again = at == v.list.Cursor
	v.list.Cursor = at
	v.move(0)
	return again
}

func (v *decisionList) answer(l *canvas.Line) {
	l.Put(theme.Title, v.handler).Put(theme.Dim, " on "+words.Count(len(v.rows), "object"))
	counts := map[words.Word]int{}
	for _, d := range v.rows {
		counts[words.Handler(d.state.State)]++
	}
	for _, phase := range []inspect.HandlerPhase{inspect.PhaseFailed, inspect.PhaseRetrying, inspect.PhaseRunning, inspect.PhaseDone, inspect.PhaseFiltered} {
		if w := words.Handler(phase); counts[w] > 0 {
			l.Skip(3).Put(w.Token, w.Glyph+" "+words.Thousands(counts[w])+" "+w.Text)
		}
	}
	if v.filter.used() {
		v.filter.draw(l.Skip(3))
	}
}

func (v *decisionList) body(w, h int) []string {
	v.height = h
	p := v.common.pane(w, h)
	if len(v.rows) == 0 {
		p.Blank()
		if v.filter.text != "" {
			p.Text(theme.Dim, "  nothing matches; esc shows all")
		} else {
			p.Text(theme.Dim, "  there is no object that it could run on")
		}
		return p.Fill()
	}
	table := canvas.Table{
		Columns: []canvas.Column{
			{Title: "STATE", Width: 13, State: true},
			{Title: "NAMESPACE", Width: 9, Drop: 2},
			{Title: "NAME", Width: 14, Grow: 1, Max: 44, Cut: canvas.CutMiddle},
			{Title: "TRY", Width: 4, Drop: 3, Right: true},
			{Title: "NEXT", Width: 7, Right: true},
			{Title: "BECAUSE", Width: 24, Grow: 2, Drop: 1},
		},
		Rows: len(v.rows),
		Cell: func(row, column int) canvas.Cell {
			d := v.rows[row]
			switch column {
			case 0:
				return v.common.handlerCell(d.state, 0)
			case 1:
				return canvas.Cell{Token: theme.Dim, Text: d.object.Namespace}
			case 2:
				return canvas.Cell{Text: d.object.Name}
			}
			return v.common.handlerCell(d.state, map[int]int{3: 3, 4: 4, 5: 6}[column])
		},
	}
	table.Draw(p, &v.list)
	return p.Fill()
}

// drawDecision is one line of the list in little room.
func (c *common) drawDecision(p *canvas.Pane, d decision) {
	word := words.Handler(d.state.State)
	l := p.Line().Skip(1).Put(word.Token, word.Glyph).Skip(1)
	l.Cell(theme.Text, canvas.CutMiddle(canvas.Clean(d.object.Name), 20), 20).Skip(1)
	if !isOut(d.state) {
		l.Cell(word.Token, word.Text, 9)
	}
	p.End(l.Put(theme.Dim, c.note(d.state)))
}
