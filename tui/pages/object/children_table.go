package object

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	childStateColumn = iota
	childNameColumn
	childSinceColumn
	childResultColumn
	childDetailColumn
	childColumnsColumn
)

func (p *childrenPane) table(o *inspect.Object, w int) *render.Table {
	name, detail, columns := 0, 16, 0
	for _, r := range p.rows {
		if r.child != nil {
			name = max(name, render.Width(p.foldableName(r.child, o)))
			detail = max(detail, render.Width(render.Clean(explain.ChildReason(r.child))))
			columns = max(columns, render.Width(p.columns.of(r.child)))
		}
	}
	return &render.Table{
		Columns: []render.Column{
			childStateColumn:  {Title: "STATE", Width: 13, State: true},
			childNameColumn:   {Title: "CHILD", Width: 12, Fit: name, Cut: render.CutMiddle},
			childSinceColumn:  {Title: "SINCE", Width: 5, Right: true, Drop: 2},
			childResultColumn: {Title: "LAST PASS", Width: 9, Drop: 3},
			childDetailColumn: {Title: "BECAUSE", Width: 16, Grow: 1, Max: detail, Drop: 1},

			childColumnsColumn: {Title: "KUBECTL GET", Width: min(14, columns), Grow: 1, Max: columns, Drop: 4, Cut: cutColumns},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell { return p.cell(p.rows[row].child, o, column) },
		Note: func(row int) (render.Cell, bool) {
			switch r := p.rows[row]; {
			case r.child == nil:
				return render.Cell{Tone: explain.Dim, Text: "… " + explain.Thousands(p.seen.Omitted) + " more"}, true
			case r.below != nil:
				return render.Cell{Tone: r.below.tone, Text: p.belowText(r.below, w-6)}, true
			case r.drift != nil:
				w := explain.DriftWord(r.drift)
				return render.Cell{Tone: w.Tone, Text: "└ " + w.Glyph + " " + p.driftText(r.drift)}, true
			}
			return render.Cell{}, false
		},
	}
}

// childName returns the kind and the name of a child, with the namespace if it differs from the object's.
func childName(c *inspect.Child, o *inspect.Object) string {
	if c.Namespace == o.Namespace {
		return explain.KindName(&c.KindRef)
	}
	return c.Kind + " " + explain.QualifiedName(c.Ref)
}

func (p *childrenPane) foldableName(c *inspect.Child, o *inspect.Object) string {
	name := childName(c, o)
	if _, marked := p.screen.Planning.MarkOf(p.screen.State, c.Ref); marked {
		name = parts.PlanGlyph + " " + name
	}
	if c.State == "" {
		return name
	}
	return p.foldMark(c.Ref) + name
}

func (p *childrenPane) cell(c *inspect.Child, o *inspect.Object, column int) render.Cell {
	switch column {
	case childStateColumn:
		w := explain.ChildWord(c)
		return render.Cell{Tone: w.Tone, Text: w.String()}
	case childNameColumn:
		m, _ := p.screen.Planning.MarkOf(p.screen.State, c.Ref)
		return render.Cell{Tone: m.Tone, Text: p.foldableName(c, o)}
	case childSinceColumn:
		if c.Since.IsZero() {
			return render.Cell{}
		}
		return render.Cell{Tone: explain.Dim, Text: explain.Ago(p.screen.Since(c.Since))}
	case childResultColumn:
		if string(c.Result) == explain.ChildWord(c).Text {
			return render.Cell{} // the state has the same message
		}
		return render.Cell{Tone: resultTones[c.Result], Text: string(c.Result)}
	case childColumnsColumn:
		return render.Cell{Tone: explain.Dim, Text: p.columns.of(c)}
	}
	return render.Cell{Tone: detailTone(c), Text: explain.ChildReason(c)}
}

var resultTones = map[inspect.ChildResult]explain.Tone{
	inspect.ResultReverted: explain.Warn, inspect.ResultRefused: explain.Err, inspect.ResultAwaited: explain.Intended,
	inspect.ResultYielded: explain.Dim, inspect.ResultUnchanged: explain.Dim,
}

// detailTone returns the tone of the detail of a child: whether the detail is a problem or a secondary
// fact.
func detailTone(c *inspect.Child) explain.Tone {
	if w := explain.ChildWord(c); w.Tone == explain.Err || w.Tone == explain.Warn {
		return w.Tone
	}
	if c.Error != "" {
		return explain.Warn
	}
	return explain.Dim
}
