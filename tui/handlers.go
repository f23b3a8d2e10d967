package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// handlersView is the table of the registered handlers with what came of them.
type handlersView struct {
	common *common
	filter filter

	rows   []*inspect.Handler
	list   canvas.List
	cursor string // the id of the selected handler
	layout layout

	decisions *decisionList // the objects of one handler, if they are open
	preview   *decisionList // those of the selected one
}

func newHandlersView(c *common) *handlersView {
	v := &handlersView{common: c}
	v.changed()
	return v
}

func (v *handlersView) changed() {
	v.rows = v.rows[:0]
	words := v.filter.words()
	if s := v.common.world.state.Snapshot; s != nil {
		for i := range s.Handlers {
			h := &s.Handlers[i]
			if matches(words, strings.ToLower(h.ID), h.Kind, strings.ToLower(h.Selector), h.Field) {
				v.rows = append(v.rows, h)
			}
		}
	}
	for i, h := range v.rows {
		if h.ID == v.cursor {
			v.list.Cursor = i
		}
	}
	v.land()
	if v.decisions != nil {
		v.decisions.changed()
	}
}

// land takes over whatever the cursor is on.
func (v *handlersView) land() {
	v.list.Move(0, len(v.rows))
	if h := v.selected(); h != nil {
		v.cursor = h.ID
		if v.preview == nil || v.preview.handler != h.ID {
			v.preview = newDecisionList(v.common, h.ID)
		} else {
			v.preview.changed()
		}
	}
}

func (v *handlersView) selected() *inspect.Handler {
	if v.list.Cursor < len(v.rows) {
		return v.rows[v.list.Cursor]
	}
	return nil
}

func (v *handlersView) openDecisions() { v.decisions = newDecisionList(v.common, v.cursor) }

func (v *handlersView) move(d int) {
	if v.decisions != nil {
		v.decisions.move(d)
		return
	}
	v.list.Move(d, len(v.rows))
	v.land()
}

func (v *handlersView) page() int { return v.layout.list.h - 1 }

func (v *handlersView) search() *filter {
	if v.decisions != nil {
		return &v.decisions.filter
	}
	return &v.filter
}

func (v *handlersView) click(x, y int) (again bool) {
	if v.decisions != nil {
		return v.decisions.click(y)
	}
	at := v.list.Offset + y - 1
	if !v.layout.list.has(x, y) || y < 1 || at >= len(v.rows) {
		return false
	}
	again = at == v.list.Cursor
	v.list.Cursor = at
	v.land()
	return again
}

func (v *handlersView) answer(l *canvas.Line, short bool) {
	if v.decisions != nil {
		v.decisions.answer(l)
		return
	}
	s := v.common.world.state.Snapshot
	if s == nil {
		l.Put(theme.Dim, "no operator has run yet")
		return
	}
	failed, retried, never := 0, 0, 0
	for i := range s.Handlers {
		failed += s.Handlers[i].Stats.Failed
		retried += s.Handlers[i].Stats.Retried
		if s.Handlers[i].Stats.Runs == 0 {
			never++
		}
	}
	part := func(token theme.Token, n int, text string) {
		if n == 0 {
			token = theme.Faint
		}
		l.Also(token, text)
	}
	l.Put(theme.Text, words.Count(len(s.Handlers), "handler"))
	part(theme.Err, failed, "✗ "+words.Count(failed, "failure"))
	if short {
		return
	}
	retries := words.Thousands(retried) + " retries"
	if retried == 1 {
		retries = "1 retry"
	}
	part(theme.Warn, retried, "↻ "+retries)
	part(theme.Dim, never, fmt.Sprintf("%d never ran", never))
	if v.filter.used() {
		v.filter.draw(l.Skip(3))
	} else {
		l.Also(theme.Dim, "since the start "+words.Back(v.common.since(s.Operator.Started)))
	}
}

func (v *handlersView) body(w, h int) []string {
	c := v.common
	if v.decisions != nil {
		return v.decisions.body(w, h)
	}
	if len(v.rows) == 0 {
		v.layout = layout{}
		p := c.pane(w, h)
		p.Blank()
		switch s := c.world.state.Snapshot; {
		case v.filter.text != "":
			p.Text(theme.Dim, "  nothing matches; esc shows all")
		case s == nil:
			p.Text(theme.Dim, "  the handlers are known when the operator has started")
		default:
			p.Text(theme.Dim, "  Register has registered no handler. kopf.OnCreate, kopf.OnUpdate and others do.")
		}
		return p.Fill()
	}
	v.layout = c.split(w, h, 7)
	p := c.pane(v.layout.list.w, v.layout.list.h)
	v.table().Draw(p, &v.list)
	d := c.pane(v.layout.detail.w, v.layout.detail.h)
	if d.H > 0 {
		v.detail(d, v.selected())
	}
	return v.layout.join(c, v.cursor, p.Fill(), d.Fill())
}

func (v *handlersView) table() *canvas.Table {
	count := func(title string, drop int) canvas.Column {
		return canvas.Column{Title: title, Width: 5, Right: true, Drop: drop}
	}
	return &canvas.Table{
		Columns: []canvas.Column{
			{Title: "HANDLER", Width: 10, Grow: 1, Max: 32},
			{Title: "FOR", Width: 14, Grow: 1, Max: 32, Drop: 6},
			count("RUNS", 0), count("OK", 5), count("RETRY", 2), count("FAIL", 0),
			{Title: "P50", Width: 5, Right: true, Drop: 4},
			{Title: "P99", Width: 5, Right: true, Drop: 3},
		},
		Rows: len(v.rows),
		Cell: func(row, column int) canvas.Cell {
			if column == 0 {
				return canvas.Cell{Text: v.common.world.name(v.rows[row].ID)}
			}
			return handlerStat(v.rows[row], column)
		},
	}
}

func handlerStat(h *inspect.Handler, column int) canvas.Cell {
	number := func(n int, token theme.Token) canvas.Cell {
		if n == 0 {
			return canvas.Cell{Token: theme.Faint, Text: "–"}
		}
		return canvas.Cell{Token: token, Text: words.Thousands(n)}
	}
	duration := func(s string) canvas.Cell {
		if s == "" {
			return canvas.Cell{Token: theme.Faint, Text: "–"}
		}
		return canvas.Cell{Token: theme.Dim, Text: s}
	}
	switch column {
	case 1:
		return canvas.Cell{Token: theme.Dim, Text: strings.TrimSpace(h.Kind + " " + h.Field)}
	case 2:
		return number(h.Stats.Runs, theme.Text)
	case 3:
		return number(h.Stats.Succeeded, theme.Text)
	case 4:
		return number(h.Stats.Retried, theme.Warn)
	case 5:
		return number(h.Stats.Failed, theme.Err)
	case 6:
		return duration(words.Took(h.Stats.P50))
	}
	return duration(words.Took(h.Stats.P99))
}

// detail is what there is to know about one handler.
func (v *handlersView) detail(p *canvas.Pane, h *inspect.Handler) {
	if v.layout.beside {
		p.End(p.Line().Skip(1).Put(theme.Title, h.ID).Put(theme.Dim, "  "+strings.TrimSpace(h.Kind+" "+h.Field)))
		p.Blank()
	}
	fact := func(name, value string) {
		if value == "" {
			return
		}
		p.End(p.Line().Skip(1).Cell(theme.Dim, name, 12).Put(theme.Text, value))
	}
	filters := h.Filters
	if h.Retries > 0 {
		filters = append(filters[:len(filters):len(filters)], "gives up after "+strconv.Itoa(h.Retries))
	}
	fact("on", h.Selector)
	fact("registered", h.Source)
	fact("filters", strings.Join(filters, " · "))
	if h.Stats.LastError != "" {
		l := p.Line().Skip(1).Cell(theme.Dim, "last error", 12)
		l.Put(theme.Warn, canvas.CutEnd(canvas.Clean(h.Stats.LastError), l.Rest()-9))
		p.End(l.Right(theme.Dim, words.Back(v.common.since(h.Stats.LastAt))))
	}
	if h.Stats.Runs == 0 {
		p.Prose(theme.Dim, "Never ran: nothing that it waits for has happened since the start. enter lists its objects, each with what kept it out.", 3)
	}
	if v.preview == nil || len(v.preview.rows) == 0 || p.Left() < 3 {
		return
	}
	if v.layout.beside {
		p.Blank()
	}
	p.Rule("on objects  "+words.Thousands(len(v.preview.rows)), "enter all")
	for _, d := range v.preview.rows[:min(p.Left(), len(v.preview.rows))] {
		v.common.drawDecision(p, d)
	}
}
