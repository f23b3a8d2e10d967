package handlers

import (
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	handlerColumn = iota
	forColumn
	runsColumn
	recentColumn
	okColumn
	retryColumn
	waitColumn
	denyColumn
	failColumn
	p50Column
	p99Column
)

func (p *Page) table() *render.Table {
	purpose, runs, ok, retried, waited, denied := 0, 0, 0, 0, 0, 0
	for _, h := range p.rows {
		purpose = max(purpose, render.Width(purposeOf(h)))
		runs, ok, retried = max(runs, p.screen.State.Runs(h)), max(ok, h.Stats.Succeeded), max(retried, h.Stats.Retried)
		waited, denied = max(waited, h.Stats.Waited), max(denied, h.Stats.Denied)
	}
	table := &render.Table{
		Columns: []render.Column{
			handlerColumn: {Title: "HANDLER", Width: 10, Fit: p.screen.State.Longest.Handler},
			forColumn:     {Title: "FOR", Width: 14, Grow: 1, Max: purpose, Drop: 6},
			runsColumn:    {Title: "RUNS", Width: 5, Fit: digits(runs), Right: true},
			recentColumn:  {Title: "LAST 5M", Width: recentWidth, Drop: 7},
			okColumn:      {Title: "OK", Width: 5, Fit: digits(ok), Right: true, Drop: 5},
			retryColumn:   {Title: "RETRY", Width: 5, Fit: digits(retried), Right: true, Drop: 2},
			waitColumn:    {Title: "WAIT", Width: 5, Fit: digits(waited), Right: true, Drop: 2},
			denyColumn:    {Title: "DENY", Width: 5, Fit: digits(denied), Right: true, Drop: 2},
			failColumn:    {Title: "FAIL", Width: 5, Right: true},
			p50Column:     {Title: "P50", Width: 5, Right: true, Drop: 4},
			p99Column:     {Title: "P99", Width: 5, Right: true, Drop: 3},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell {
			if column == handlerColumn {
				return render.Cell{Text: p.screen.State.ShortName(p.rows[row].ID)}
			}
			if column == runsColumn {
				return number(p.screen.State.Runs(p.rows[row]), explain.Text)
			}
			if column == recentColumn {
				return p.recentCell(p.rows[row])
			}
			return statCell(p.rows[row], column)
		},
	}
	if waited == 0 {
		table.Columns[waitColumn] = render.Column{}
	}
	if denied == 0 {
		table.Columns[denyColumn] = render.Column{}
	}
	return table
}

// digits returns the width of a number. Columns of numbers are never cut, because a cut number looks like another number.
func digits(n int) int { return render.Width(explain.Thousands(n)) }

// purposeOf returns the kind of a handler and its field.
func purposeOf(h *inspect.Handler) string { return strings.TrimSpace(string(h.Kind) + " " + h.Field) }

func statCell(h *inspect.Handler, column int) render.Cell {
	switch column {
	case forColumn:
		return render.Cell{Tone: explain.Dim, Text: purposeOf(h)}
	case okColumn:
		return number(h.Stats.Succeeded, explain.Text)
	case retryColumn:
		return number(h.Stats.Retried, explain.Warn)
	case waitColumn:
		return number(h.Stats.Waited, explain.Intended)
	case denyColumn:
		return number(h.Stats.Denied, explain.Intended)
	case failColumn:
		return number(h.Stats.Failed, explain.Err)
	case p50Column:
		return duration(h.Stats.P50)
	}
	return duration(h.Stats.P99)
}

var none = render.Cell{Tone: explain.Faint, Text: "–"}

func number(n int, tone explain.Tone) render.Cell {
	if n == 0 {
		return none
	}
	return render.Cell{Tone: tone, Text: explain.Thousands(n)}
}

func duration(d inspect.Duration) render.Cell {
	if d <= 0 {
		return none
	}
	return render.Cell{Tone: explain.Dim, Text: explain.Took(d)}
}

// drawDetail draws the details of a handler.
func (p *Page) drawDetail(b *render.Block, h *inspect.Handler) {
	if p.split.SideBySide {
		b.End(b.Line().Skip(1).Put(explain.Title, h.ID).Put(explain.Dim, "  "+purposeOf(h)))
		b.Blank()
	}
	fact := func(name, value string) {
		if value != "" {
			b.End(b.Line().Skip(1).Cell(explain.Dim, name, 12).Put(explain.Text, value))
		}
	}
	filters := h.Filters
	if h.Retries > 0 {
		filters = append(filters[:len(filters):len(filters)], "gives up after "+strconv.Itoa(h.Retries))
	}
	fact("on", h.Selector)
	fact("registered", h.Source)
	fact("filters", strings.Join(filters, " · "))
	if h.Stats.LastError != "" {
		l := b.Line().Skip(1).Cell(explain.Dim, "last error", 12)
		l.Put(explain.Warn, render.CutEnd(render.Clean(h.Stats.LastError), l.Rest()-9))
		b.End(l.Right(explain.Dim, explain.Since(p.screen.Since(h.Stats.LastAt))))
	}
	p.drawRecent(b, h)
	for _, sentence := range explain.DriftOf(p.screen.State.Snapshot.Served, h.ID) {
		b.Prose(explain.Warn, "! "+sentence+".", 2)
	}
	if p.screen.State.Runs(h) == 0 {
		b.Prose(explain.Dim, "Never ran: no matching event has happened since the start. enter lists its objects, each with the filter that excludes it.", 3)
	}
	p.drawPreview(b)
}

// drawPreview draws the first objects of the selected handler.
func (p *Page) drawPreview(b *render.Block) {
	if p.preview == nil || len(p.preview.rows) == 0 || b.Rest() < 3 {
		return
	}
	if p.split.SideBySide {
		b.Blank()
	}
	b.Rule("on objects  "+explain.Thousands(len(p.preview.rows)), "enter all")
	for _, d := range p.preview.rows[:min(b.Rest(), len(p.preview.rows))] {
		drawDecision(p.screen, b, d)
	}
}

// recentWidth is the width of the sparkline in the table.
const recentWidth = 10

// recentCell draws the attempts of the last minutes.
func (p *Page) recentCell(h *inspect.Handler) render.Cell {
	recent, some := explain.RecentRuns(h, p.screen.Now)
	if !some {
		return none
	}
	return render.Cell{Tone: explain.Busy, Text: render.Sparkline(recent.Runs, recentWidth)}
}

// drawRecent draws the rate and the durations of the last minutes, each with its scale.
func (p *Page) drawRecent(b *render.Block, h *inspect.Handler) {
	recent, some := explain.RecentRuns(h, p.screen.Now)
	if !some {
		return
	}
	w := min(30, b.W-36)
	draw := func(name string, values []float64, scale string) {
		if w < recentWidth {
			b.End(b.Line().Skip(1).Cell(explain.Dim, name, 12).Put(explain.Text, scale))
			return
		}
		b.End(b.Line().Skip(1).Cell(explain.Dim, name, 12).Put(explain.Busy, render.Sparkline(values, w)).Put(explain.Dim, "  "+scale))
	}
	draw("rate, "+explain.Ago(recent.Span), recent.Runs, "up to "+explain.Thousands(recent.PerMinute)+" a minute")
	draw("duration", recent.Took, "up to "+explain.Took(recent.Slowest))
}
