// Package daemons is the page with the daemons and timers of all objects.
package daemons

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of daemons and timers.
type Page struct {
	screen *parts.Screen
	w, h   int
	filter parts.Filter

	rows  []explain.BackgroundTask
	all   int // the number of rows without the filter
	list  render.List
	split parts.Split

	// The following fields identify the selected task, so that the cursor stays on the task when the
	// rows change.
	object  inspect.Ref
	handler string

	state   *explain.State // state from which the rows were collected
	matched string         // filter that the rows match
}

// New returns the page.
func New(s *parts.Screen) *Page { return &Page{screen: s, filter: parts.NewFilter()} }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter.
func (p *Page) Filter() *parts.Filter { return &p.filter }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return max(1, p.split.List.H-1) }

// Refresh does nothing. Rows are only collected when they are drawn, because there may be thousands.
func (p *Page) Refresh() {}

// collect collects the rows, unless they were already collected from the current state.
func (p *Page) collect() {
	if p.state == p.screen.State && p.matched == p.filter.Text() {
		return
	}
	p.state, p.matched = p.screen.State, p.filter.Text()
	tasks := p.state.BackgroundTasks()
	p.all, p.rows = len(tasks), tasks[:0]
	query := p.filter.Query("state", "handler", "namespace", "name", "error", "kind")
	for _, t := range tasks {
		message := ""
		if e := t.LastError(); e != nil {
			message = strings.ToLower(e.Message)
		}
		if query.Matches(explain.HandlerWordOf(t.HandlerState).Text, strings.ToLower(t.ID), t.Object.Namespace, t.Object.Name, message, string(t.Kind)) {
			p.rows = append(p.rows, t)
		}
	}
	p.restoreCursor()
}

func (p *Page) restoreCursor() {
	for i, t := range p.rows {
		if t.ID == p.handler && explain.SameObject(t.Object.Ref, p.object) {
			p.list.Cursor = i
			break
		}
	}
	p.list.Move(0, len(p.rows))
	p.choose()
}

func (p *Page) choose() {
	if t, ok := p.current(); ok {
		p.object, p.handler = t.Object.Ref, t.ID
	}
}

// current returns the row at the cursor. It reports whether there is one.
func (p *Page) current() (t explain.BackgroundTask, ok bool) {
	p.collect()
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor], true
	}
	return t, false
}

// selected returns the object at the cursor, or nil.
func (p *Page) selected() *inspect.Object {
	t, _ := p.current()
	return t.Object
}

// Move moves the cursor by d rows.
func (p *Page) Move(d int) {
	p.collect()
	p.list.Move(d, len(p.rows))
	p.choose()
}

// Click selects the row at a place. It reports whether the row was already selected.
func (p *Page) Click(x, y int) (again bool) {
	p.collect()
	i := p.list.Offset + y - 1
	if !p.split.List.Contains(x, y) || y < 1 || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor = i
	p.choose()
	return again
}

// Summary draws the number of daemons and timers in each state.
func (p *Page) Summary(l *render.Line, short bool) {
	p.collect()
	if p.screen.State.Snapshot == nil {
		l.Put(explain.Dim, "no operator has run yet")
		return
	}
	counts := map[explain.Word]int{}
	for _, t := range p.rows {
		counts[explain.HandlerWordOf(t.HandlerState)]++
	}
	var words []explain.Word
	for _, phase := range []inspect.HandlerPhase{inspect.PhaseStopping, inspect.PhaseFailed, inspect.PhaseRetrying, inspect.PhaseAlive, inspect.PhaseTicking} {
		words = append(words, explain.HandlerWord(phase))
	}
	if waiting := explain.WaitingWord(); counts[waiting] > 0 {
		words = append(words, waiting)
	}
	for _, word := range words {
		tone := explain.Faint
		if counts[word] > 0 {
			tone = word.Tone
		}
		text := word.Glyph + " " + explain.Thousands(counts[word])
		if !short && !p.filter.Visible() {
			text += " " + word.Text
		}
		l.Put(tone, text).Skip(2)
	}
	if short {
		return
	}
	if p.filter.Visible() {
		p.filter.DrawWith(p.screen, l.Skip(1), explain.Thousands(len(p.rows))+" of "+explain.Thousands(p.all))
		return
	}
	l.Right(explain.Dim, explain.Thousands(p.all)+" in the background")
}

// View draws the page.
func (p *Page) View() string {
	p.collect()
	if len(p.rows) == 0 {
		p.split = parts.Split{}
		return p.viewEmpty()
	}
	table := p.table()
	p.split = parts.NewSplit(p.screen, p.w, p.h, 6, table)
	list := p.screen.Block(p.split.List.W, p.split.List.H)
	table.Draw(list, &p.list)
	detail := p.screen.Block(p.split.Detail.W, p.split.Detail.H)
	if t, ok := p.current(); ok && detail.H > 0 {
		p.drawDetail(detail, t)
	}
	t, _ := p.current()
	return p.split.Join(p.screen, string(t.Kind), list, detail)
}

func (p *Page) viewEmpty() string {
	b := p.screen.Block(p.w, p.h)
	b.Blank()
	switch {
	case p.filter.Text() != "":
		b.Text(explain.Dim, "  nothing matches; esc shows all")
	case p.screen.State.Snapshot == nil:
		b.Text(explain.Dim, "  daemons and timers are known when the operator has started")
	case !p.screen.State.HasDaemons():
		b.Prose(explain.Dim, "  This operator has no daemons and no timers: kopf.Daemon and kopf.Timer register some.", 3)
	default:
		b.Prose(explain.Dim, "  None runs: there is no object that they match. 2 shows their filters.", 3)
	}
	return b.String()
}

// drawDetail draws the details of a daemon or timer of an object.
func (p *Page) drawDetail(b *render.Block, t explain.BackgroundTask) {
	fact := func(name, value string) {
		if value != "" {
			b.End(b.Line().Skip(1).Cell(explain.Dim, name, 11).Put(explain.Text, value))
		}
	}
	if p.split.SideBySide {
		word := explain.HandlerWordOf(t.HandlerState)
		b.End(b.Line().Skip(1).Put(explain.Title, t.ID).Put(explain.Dim, "  "+string(t.Kind)).Right(word.Tone, word.String()))
		b.Blank()
	}
	fact("object", t.Object.Kind+" "+explain.QualifiedName(t.Object.Ref))
	if !t.Started.IsZero() {
		fact("since", explain.Since(p.screen.Since(t.Started)))
	}
	fact("now", parts.Note(p.screen, t.Object, t.HandlerState))
	if e := t.LastError(); e != nil && t.Error == nil {
		fact("last error", explain.ErrorText(e))
	}
	if b.Rest() > 2 {
		parts.DrawAttempts(p.screen, b, t.Object, t.HandlerState)
	}
}
