package indices

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	stateColumn = iota
	indexColumn
	keysColumn
	valuesColumn
	objectsColumn
	keyColumn
	valueColumn
)

func (p *Page) table() *render.Table {
	longest, key, value := 5, 8, 10
	for _, x := range p.rows {
		longest, key, value = max(longest, render.Width(x.ID)), max(key, render.Width(x.Key)), max(value, render.Width(x.Value))
	}
	return &render.Table{
		Columns: []render.Column{
			stateColumn:   {Title: "STATE", Width: 10, State: true, Drop: 3},
			indexColumn:   {Title: "INDEX", Width: 10, Fit: longest},
			keysColumn:    {Title: "KEYS", Width: 6, Right: true},
			valuesColumn:  {Title: "VALUES", Width: 6, Right: true},
			objectsColumn: {Title: "OBJECTS", Width: 7, Right: true, Drop: 1},
			keyColumn:     {Title: "KEY TYPE", Width: 8, Grow: 1, Max: key, Drop: 4},
			valueColumn:   {Title: "VALUE TYPE", Width: 10, Grow: 1, Max: value, Drop: 5},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell { return cell(p.screen.State.Snapshot, p.rows[row], column) },
	}
}

func cell(s *inspect.Snapshot, x *inspect.Index, column int) render.Cell {
	number := func(n int) render.Cell { return render.Cell{Text: explain.Thousands(n)} }
	switch column {
	case stateColumn:
		word := explain.IndexWord(s, x)
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case indexColumn:
		return render.Cell{Text: x.ID}
	case keysColumn:
		return number(x.Keys)
	case valuesColumn:
		return number(x.Values)
	case objectsColumn:
		return number(x.Objects)
	case keyColumn:
		return render.Cell{Tone: explain.Dim, Text: x.Key}
	}
	return render.Cell{Tone: explain.Dim, Text: x.Value}
}
