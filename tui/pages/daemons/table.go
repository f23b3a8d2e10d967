package daemons

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	stateColumn = iota
	handlerColumn
	namespaceColumn
	nameColumn
	nextColumn
	runsColumn
	errorColumn
)

func (p *Page) table() *render.Table {
	longest, handler := p.screen.State.Longest, 7
	for i := range p.screen.State.Snapshot.Handlers {
		if h := &p.screen.State.Snapshot.Handlers[i]; h.Kind == "daemon" || h.Kind == "timer" {
			handler = max(handler, render.Width(p.screen.State.ShortName(h.ID)))
		}
	}
	return &render.Table{
		Columns: []render.Column{
			stateColumn:     {Title: "STATE", Width: 10, State: true},
			handlerColumn:   {Title: "HANDLER", Width: 7, Grow: 1, Max: handler, Drop: 1},
			namespaceColumn: {Title: "NAMESPACE", Width: 9, Grow: 1, Max: longest.Namespace, Drop: 5},
			nameColumn:      {Title: "NAME", Width: 10, Fit: longest.Name, Cut: render.CutMiddle},
			nextColumn:      {Title: "NEXT", Width: 7, Right: true, Drop: 2},
			runsColumn:      {Title: "RUNS", Width: 5, Right: true, Drop: 3},
			errorColumn:     {Title: "LAST ERROR", Width: 12, Grow: 2, Drop: 4},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell { return p.cell(p.rows[row], column) },
	}
}

func (p *Page) cell(t explain.BackgroundTask, column int) render.Cell {
	switch column {
	case stateColumn:
		return parts.StateCell(t.HandlerState)
	case handlerColumn:
		return render.Cell{Text: p.screen.State.ShortName(t.ID)}
	case namespaceColumn:
		return render.Cell{Tone: explain.Dim, Text: t.Object.Namespace}
	case nameColumn:
		return render.Cell{Text: t.Object.Name}
	case nextColumn:
		return parts.NextCell(p.screen, t.Object, t.HandlerState)
	case runsColumn:
		if t.Runs == 0 {
			return render.Cell{Tone: explain.Faint, Text: "–"}
		}
		return render.Cell{Tone: explain.Dim, Text: explain.Thousands(t.Runs)}
	}
	e := t.LastError()
	if e == nil {
		return render.Cell{}
	}
	tone := explain.Dim // tone of a task that has ended
	if t.Error != nil {
		tone = explain.HandlerWordOf(t.HandlerState).Tone
	}
	return render.Cell{Tone: tone, Text: explain.ErrorText(e)}
}
