package resources

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	stateColumn = iota
	kindColumn
	namespaceColumn
	nameColumn
	childrenColumn
	handlerColumn
	tryColumn
	nextColumn
	ageColumn
)

func (p *Page) table() *render.Table {
	longest := p.screen.State.Longest
	kind, owned, children := 4, min(1, p.screen.State.Owned), 0
	if p.screen.State.Parents > 0 {
		children = 9
	}
	if s := p.screen.State.Snapshot; s != nil {
		for _, r := range s.Served {
			kind = max(kind, render.Width(r.Short))
		}
	}
	columns := []render.Column{
		stateColumn:     {Title: "STATE", Width: 10, State: true},
		kindColumn:      {Title: "KIND", Width: min(kind, 10), Fit: kind, Drop: 6},
		namespaceColumn: {Title: "NAMESPACE", Width: 9, Fit: min(longest.Namespace, 13), Grow: 1, Max: longest.Namespace, Drop: 3},
		nameColumn:      {Title: "NAME", Width: 12, Fit: longest.Name + 2*max(p.depth, owned) + p.marked(), Cut: render.CutMiddle},
		childrenColumn:  {Title: "CHILDREN", Width: children, Drop: 4, Right: true},
		handlerColumn:   {Title: "HANDLER", Width: 8, Grow: 1, Max: max(8, longest.Handler), Drop: 2},
		tryColumn:       {Title: "TRY", Width: 4, Drop: 5, Right: true},
		nextColumn:      {Title: "NEXT", Width: 7, Drop: 1, Right: true},
		ageColumn:       {Title: "AGE", Width: 4, Drop: 7, Right: true},
	}
	if p.layout.Group == ByKind {
		columns[kindColumn].Width, columns[kindColumn].Fit = 0, 0 // the headings of the groups contain the kind
	}
	if mark := "▴"; p.layout != (Layout{Group: p.layout.Group}) {
		if p.layout.Reversed {
			mark = "▾"
		}
		columns[p.layout.Order.column()].Title += mark
	}
	return &render.Table{
		Columns: columns,
		Rows:    len(p.rows),
		Cell:    func(row, column int) render.Cell { return cell(p.screen, p.rows[row], column) },
		Head:    func(row int) (string, bool) { return p.rows[row].head, p.rows[row].object == nil },
	}
}

// marked returns the width of the marks of plans.
func (p *Page) marked() int {
	if p.screen.Planning.HasMarks(p.screen.State) {
		return 2
	}
	return 0
}

func cell(s *parts.Screen, row row, column int) render.Cell {
	o := row.object
	switch column {
	case stateColumn:
		w := explain.WordOf(o)
		return render.Cell{Tone: w.Tone, Text: w.String()}
	case kindColumn:
		return render.Cell{Tone: explain.Dim, Text: o.Short}
	case namespaceColumn:
		return render.Cell{Tone: explain.Dim, Text: o.Namespace}
	case nameColumn:
		before := ""
		if row.depth > 0 {
			before = strings.Repeat("  ", row.depth-1) + "└ "
		} else if s.State.OwnerOf(o) != nil {
			before = "└ "
		}
		if m, found := s.Planning.MarkOf(s.State, o.Ref); found {
			return render.Cell{Tone: m.Tone, Text: before + parts.PlanGlyph + " " + o.Name}
		}
		return render.Cell{Text: before + o.Name}
	case childrenColumn:
		tone, text := explain.ChildCounts(o)
		return render.Cell{Tone: tone, Text: text}
	case ageColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Ago(s.Since(o.Created))}
	}
	h := explain.Active(o)
	switch {
	case h == nil:
		return render.Cell{}
	case column == handlerColumn:
		return render.Cell{Text: s.State.NameOf(h)}
	case column == tryColumn:
		return parts.TryCell(h)
	}
	return parts.NextCell(s, o, h)
}
