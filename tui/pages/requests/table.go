package requests

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	verbColumn = iota
	resourceColumn
	codeColumn
	countColumn
	rateColumn
	p50Column
	p99Column
	repeatedColumn
)

func (p *Page) table() *render.Table {
	longest := 9
	for _, r := range p.rows {
		longest = max(longest, render.Width(shortName(r)))
	}
	return &render.Table{
		Columns: []render.Column{
			verbColumn:     {Title: "VERB", Width: 6},
			resourceColumn: {Title: "RESOURCE", Width: 12, Fit: longest, Cut: render.CutMiddle},
			codeColumn:     {Title: "CODE", Width: 4, Right: true},
			countColumn:    {Title: "COUNT", Width: 6, Right: true},
			rateColumn:     {Title: "/MIN", Width: 5, Right: true, Drop: 1},
			p50Column:      {Title: "P50", Width: 5, Right: true, Drop: 4},
			p99Column:      {Title: "P99", Width: 5, Right: true, Drop: 3},
			repeatedColumn: {Title: "AGAIN", Width: 5, Right: true, Drop: 2},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell { return cell(p.rows[row], column) },
	}
}

var none = render.Cell{Tone: explain.Faint, Text: "–"}

func number(n int, tone explain.Tone) render.Cell {
	if n == 0 {
		return none
	}
	return render.Cell{Tone: tone, Text: explain.Thousands(n)}
}

func cell(r *inspect.RequestStats, column int) render.Cell {
	switch column {
	case verbColumn:
		return render.Cell{Text: r.Verb}
	case resourceColumn:
		return render.Cell{Tone: explain.Dim, Text: shortName(r)}
	case codeColumn:
		switch {
		case r.Code == 0:
			return render.Cell{Tone: explain.Err, Text: "none"}
		case isFailure(r):
			return number(r.Code, explain.Err)
		}
		return number(r.Code, explain.Dim)
	case countColumn:
		return number(r.Count, explain.Text)
	case rateColumn:
		return number(r.PerMinute, explain.Text)
	case p50Column:
		return render.Cell{Tone: explain.Dim, Text: explain.Took(r.P50)}
	case p99Column:
		return render.Cell{Tone: explain.Dim, Text: explain.Took(r.P99)}
	}
	return number(r.Repeated, explain.Warn)
}
