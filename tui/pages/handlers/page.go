// Package handlers is the page with the registered handlers, their statistics, and the
// objects that each of them was considered for.
package handlers

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of handlers.
type Page struct {
	screen *parts.Screen
	w, h   int
	filter parts.Filter

	rows     []*inspect.Handler
	list     render.List
	selected string // the id of the selected handler
	split    parts.Split

	objects *objectList // list of the objects of one handler; nil if it is not open
	preview *objectList // list of the objects of the selected handler, for the preview
}

// New returns the page.
func New(s *parts.Screen) *Page {
	p := &Page{screen: s, filter: parts.NewFilter()}
	p.Refresh()
	return p
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter of the list that is shown.
func (p *Page) Filter() *parts.Filter {
	if p.objects != nil {
		return &p.objects.filter
	}
	return &p.filter
}

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.split.List.H - 1 }

// Refresh collects the rows again.
func (p *Page) Refresh() {
	p.rows = p.rows[:0]
	query := p.filter.Query("handler", "for", "on")
	if s := p.screen.State.Snapshot; s != nil {
		for i := range s.Handlers {
			h := &s.Handlers[i]
			if query.Matches(strings.ToLower(h.ID), string(h.Kind)+" "+h.Field, strings.ToLower(h.Selector)) {
				p.rows = append(p.rows, h)
			}
		}
	}
	for i, h := range p.rows {
		if h.ID == p.selected {
			p.list.Cursor = i
		}
	}
	p.selectHandler()
	if p.objects != nil {
		p.objects.refresh()
	}
}

// selectHandler selects the handler at the cursor.
func (p *Page) selectHandler() {
	p.list.Move(0, len(p.rows))
	h := p.current()
	if h == nil {
		return
	}
	p.selected = h.ID
	if p.preview == nil || p.preview.handler != h.ID {
		p.preview = newObjectList(p.screen, h.ID)
	} else {
		p.preview.refresh()
	}
}

// current returns the handler at the cursor, or nil.
func (p *Page) current() *inspect.Handler {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return nil
}

// CloseObjects returns from the objects of a handler to the handlers.
func (p *Page) CloseObjects() { p.objects = nil }

// Move moves the cursor by d rows.
func (p *Page) Move(d int) {
	if p.objects != nil {
		p.objects.move(d)
		return
	}
	p.list.Move(d, len(p.rows))
	p.selectHandler()
}

// Click selects the row at a place. It reports whether the row was already selected.
func (p *Page) Click(x, y int) (again bool) {
	if p.objects != nil {
		return p.objects.click(y)
	}
	i := p.list.Offset + y - 1
	if !p.split.List.Contains(x, y) || y < 1 || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor = i
	p.selectHandler()
	return again
}

// Summary draws the totals of all handlers.
func (p *Page) Summary(l *render.Line, short bool) {
	if p.objects != nil {
		p.objects.summary(l)
		return
	}
	s := p.screen.State.Snapshot
	if s == nil {
		l.Put(explain.Dim, "no operator has run yet")
		return
	}
	failed, retried, never := 0, 0, 0
	for i := range s.Handlers {
		failed += s.Handlers[i].Stats.Failed
		retried += s.Handlers[i].Stats.Retried
		if p.screen.State.Runs(&s.Handlers[i]) == 0 {
			never++
		}
	}
	total := func(tone explain.Tone, n int, text string) {
		if n == 0 {
			tone = explain.Faint
		}
		l.Also(tone, text)
	}
	l.Put(explain.Text, explain.Count(len(s.Handlers), "handler"))
	total(explain.Err, failed, "✗ "+explain.Count(failed, "failure"))
	if short {
		return
	}
	retries := explain.Thousands(retried) + " retries"
	if retried == 1 {
		retries = "1 retry"
	}
	total(explain.Warn, retried, "↻ "+retries)
	total(explain.Dim, never, fmt.Sprintf("%d never ran", never))
	if p.filter.Visible() {
		p.filter.Draw(p.screen, l.Skip(3))
	} else {
		l.Also(explain.Dim, "since the start "+explain.Since(p.screen.Since(s.Operator.Started)))
	}
}

// View draws the page.
func (p *Page) View() string {
	s := p.screen
	if p.objects != nil {
		return p.objects.view(p.w, p.h)
	}
	if len(p.rows) == 0 {
		p.split = parts.Split{}
		return p.viewEmpty()
	}
	table := p.table()
	p.split = parts.NewSplit(s, p.w, p.h, 7, table)
	list := s.Block(p.split.List.W, p.split.List.H)
	table.Draw(list, &p.list)
	detail := s.Block(p.split.Detail.W, p.split.Detail.H)
	if detail.H > 0 {
		p.drawDetail(detail, p.current())
	}
	return p.split.Join(s, p.selected, list, detail)
}

func (p *Page) viewEmpty() string {
	b := p.screen.Block(p.w, p.h)
	b.Blank()
	switch {
	case p.filter.Text() != "":
		b.Text(explain.Dim, "  nothing matches; esc shows all")
	case p.screen.State.Snapshot == nil:
		b.Text(explain.Dim, "  the handlers are known when the operator has started")
	default:
		b.Text(explain.Dim, "  Register registered no handlers: call kopf.OnCreate, kopf.OnUpdate or others in it.")
	}
	return b.String()
}
