package object

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// eventPane lists the Kubernetes events about an object, the newest last. While the cursor is on the last event,
// it moves to each new event.
type eventPane struct {
	screen *parts.Screen
	ref    inspect.Ref
	filter parts.Filter

	seen    *runner.Looked // last answer; nil before the first
	events  []runner.Event // matching events
	matched string         // filter that the shown events match
	list    render.List
	top     int // line of the screen with the titles of the table in the last drawing
}

func newEventPane(s *parts.Screen, ref inspect.Ref) *eventPane {
	return &eventPane{screen: s, ref: ref, filter: parts.NewFilter()}
}

// refresh applies new events, or a changed filter.
func (p *eventPane) refresh() {
	looked := p.screen.State.LookedAt(p.ref, runner.FacetEvents)
	if looked == nil || !looked.Loaded && p.seen != nil && p.seen.Loaded {
		looked = p.seen
	}
	if looked == p.seen && p.matched == p.filter.Text() || looked == nil {
		return
	}
	follows := p.follows()
	p.seen, p.matched = looked, p.filter.Text()
	words := p.filter.Words()
	p.events = p.events[:0:0]
	for _, e := range looked.Events {
		if parts.Matches(words, strings.ToLower(e.Reason), strings.ToLower(e.Message), strings.ToLower(e.From), explain.EventWord(e.Warning).Text) {
			p.events = append(p.events, e)
		}
	}
	if follows {
		p.list.Cursor = len(p.events) - 1
	}
	p.move(0)
}

// follows reports whether the newest event is selected.
func (p *eventPane) follows() bool { return p.list.Cursor >= len(p.events)-1 }

// click selects the event at a row of the screen.
func (p *eventPane) click(y int) {
	if i := p.list.Offset + y - p.top - 1; y > p.top && i < len(p.events) {
		p.list.Cursor = i
	}
}

func (p *eventPane) move(d int) { p.list.Move(d, len(p.events)) }

// The columns of the table.
const (
	eventAgeColumn = iota
	eventTypeColumn
	eventReasonColumn
	eventCountColumn
	eventFromColumn
	eventMessageColumn
)

// draw draws the table, and beneath it the whole message of the selected event.
func (p *eventPane) draw(b *render.Block) {
	switch why := p.screen.State.NotLooking(); {
	case why != "" && (p.seen == nil || !p.seen.Loaded):
		drawNothing(b, why)
		return
	case why != "":
		b.Prose(explain.Warn, "! "+why+"; these are the events that were seen last", 3)
	case p.seen == nil || !p.seen.Loaded && p.seen.Error == "":
		drawNothing(b, "reading the events from the cluster")
		return
	case p.seen.Error != "":
		b.Prose(explain.Err, "✗ "+p.seen.Error, 3)
	}
	if len(p.events) == 0 {
		switch {
		case !p.seen.Loaded:
		case p.filter.Text() != "":
			drawNothing(b, "nothing matches; esc shows all")
		default:
			drawNothing(b, "There are no Kubernetes events about this object, or no longer: clusters keep them for an hour.")
		}
		return
	}
	detail := 0
	if b.Rest() >= 14 {
		detail = 5
	}
	p.top = b.Len()
	top := p.screen.Block(b.W, b.Rest()-detail)
	p.table().Draw(top, &p.list)
	b.Add(top.Fill()...)
	if detail == 0 {
		return
	}
	e := p.events[p.list.Cursor]
	note := e.From
	if e.Count > 1 {
		note = fmt.Sprintf("%s · %s times", note, explain.Thousands(e.Count))
	}
	b.Rule(e.Reason, note)
	b.Prose(explain.Text, e.Message, detail-1)
}

func (p *eventPane) table() *render.Table {
	reason := 0
	for _, e := range p.events {
		reason = max(reason, render.Width(e.Reason))
	}
	return &render.Table{
		Columns: []render.Column{
			eventAgeColumn:     {Title: "LAST", Width: 4, Right: true},
			eventTypeColumn:    {Title: "TYPE", Width: 9, State: true, Drop: 2},
			eventReasonColumn:  {Title: "REASON", Width: 10, Fit: min(reason, 24)},
			eventCountColumn:   {Title: "COUNT", Width: 5, Right: true, Drop: 3},
			eventFromColumn:    {Title: "FROM", Width: 10, Drop: 4},
			eventMessageColumn: {Title: "MESSAGE", Width: 16, Grow: 1},
		},
		Rows: len(p.events),
		Cell: func(row, column int) render.Cell { return p.cell(&p.events[row], column) },
	}
}

func (p *eventPane) cell(e *runner.Event, column int) render.Cell {
	word := explain.EventWord(e.Warning)
	switch column {
	case eventAgeColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Ago(p.screen.Since(e.At))}
	case eventTypeColumn:
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case eventReasonColumn:
		return render.Cell{Text: e.Reason}
	case eventCountColumn:
		if e.Count == 1 {
			return render.Cell{}
		}
		return render.Cell{Tone: explain.Dim, Text: explain.Thousands(e.Count)}
	case eventFromColumn:
		return render.Cell{Tone: explain.Dim, Text: e.From}
	}
	tone := explain.Dim
	if e.Warning {
		tone = word.Tone
	}
	return render.Cell{Tone: tone, Text: e.Message}
}
