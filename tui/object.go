package tui

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// objectPage is one object, in tabs.
type objectPage struct {
	common *common
	ref    inspect.Ref
	shown  *inspect.Object // as last seen
	gone   bool            // it is not there any more
	tab    tab

	handlers canvas.List
	why      canvas.Scroll
	log      *logPane
	height   int // of the body, as drawn last
	rows     int // of the tab
}

// tab is a tab of an object.
type tab int

const (
	tabHandlers tab = iota
	tabWhy
	tabLog
	objectTabs
)

var tabKeys = [objectTabs]string{"h", "w", "l"}

func (t tab) String() string { return [objectTabs]string{"Handlers", "Why", "Log"}[t] }

func newObjectPage(c *common, ref inspect.Ref) *objectPage {
	v := &objectPage{common: c, ref: ref}
	v.log = newLogPane(c, func(l *inspect.LogLine) bool { return l.Object != nil && same(*l.Object, ref) })
	v.changed()
	return v
}

func (v *objectPage) changed() {
	if o := v.common.world.find(v.ref); o != nil {
		v.shown, v.gone = o, false
	} else {
		v.gone = true
	}
	v.log.changed()
}

func (v *objectPage) turnTo(t tab) { v.tab = t }

func (v *objectPage) search() *filter {
	if v.tab == tabLog {
		return &v.log.filter
	}
	return nil
}

func (v *objectPage) page() int { return v.height - 1 }

func (v *objectPage) move(d int) {
	switch v.tab {
	case tabHandlers:
		v.handlers.Move(d, v.rows)
	case tabWhy:
		v.why.Move(d)
	case tabLog:
		v.log.move(d)
	}
}

func (v *objectPage) click(_, y int) bool {
	if at := v.handlers.Offset + y - 1; v.tab == tabHandlers && y > 0 && at < v.rows {
		v.handlers.Cursor = at
	}
	return false
}

// answer is the name, the state, and the tabs.
func (v *objectPage) answer(l *canvas.Line, short bool) {
	if short {
		return
	}
	c, o := v.common, v.shown
	word := words.Object(o.State)
	state := word.String()
	if v.gone {
		word.Token, state = theme.Err, "✗ gone"
	}
	tabsWidth := 1
	for t := range objectTabs {
		tabsWidth += len(t.String()) + 2
	}
	name := canvas.CutMiddle(canvas.Clean(qualified(o.Ref)), l.Rest()-tabsWidth-canvas.Width(state)-3)
	l.Put(theme.Title, name).Skip(2).Put(word.Token, state).Skip(2)
	if h := verdict.Active(o); h != nil && h.State == inspect.PhaseRetrying && c.width >= 100 && c.world.held() == "" && !v.gone {
		l.Put(theme.Text, c.world.nameOf(h)).Put(theme.Dim, " "+verdict.Try(h)+" ").Put(theme.Warn, words.In(h.Next.Sub(c.now)))
	}
	if v.log.filter.used() && v.tab == tabLog && l.Rest() > tabsWidth+12 {
		v.log.filter.draw(l)
	}
	l.To(l.Used() + l.Rest() - tabsWidth)
	for t := range objectTabs {
		token := theme.Dim
		if t == v.tab {
			token = theme.Accent
		}
		from := l.Used()
		l.Put(token, t.String())
		c.zones.add(3, from+1, l.Used()+1, tabKeys[t])
		l.Skip(2)
	}
}

func (v *objectPage) body(w, h int) []string {
	v.height = h
	p := v.common.pane(w, h)
	if v.gone {
		p.End(p.Line().Skip(1).Put(theme.Warn, "This object is gone; what is shown is the last that was seen. esc goes back."))
	}
	switch v.tab {
	case tabHandlers:
		v.drawHandlers(p)
	case tabWhy:
		v.drawWhy(p)
	case tabLog:
		v.log.draw(p, "nothing has been logged about this object since the start")
	}
	return p.Fill()
}

// drawHandlers is a table of the handlers, and beneath it the selected one's attempts.
func (v *objectPage) drawHandlers(p *canvas.Pane) {
	c := v.common
	handlers := calledFirst(v.shown)
	v.rows = len(handlers)
	if v.rows == 0 {
		p.Blank()
		p.Text(theme.Dim, "  no handler is registered for this kind")
		return
	}
	under := 0
	if p.Left() >= 14 {
		under = 6
	}
	top := c.pane(p.W, p.Left()-under)
	c.handlerTable(handlers).Draw(top, &v.handlers)
	p.Add(top.Fill()...)
	if under > 0 {
		c.drawAttempts(p, handlers[v.handlers.Cursor])
	}
}

func (c *common) handlerTable(handlers []*inspect.HandlerState) *canvas.Table {
	return &canvas.Table{
		Columns: []canvas.Column{
			{Title: "STATE", Width: 13, State: true},
			{Title: "HANDLER", Width: 10, Grow: 1, Max: 26},
			{Title: "FOR", Width: 8, Drop: 3},
			{Title: "TRY", Width: 4, Drop: 1, Right: true},
			{Title: "NEXT", Width: 7, Right: true},
			{Title: "TOOK", Width: 6, Drop: 4, Right: true},
			{Title: "BECAUSE", Width: 24, Grow: 3, Drop: 2},
		},
		Rows: len(handlers),
		Cell: func(row, column int) canvas.Cell { return c.handlerCell(handlers[row], column) },
	}
}

func (c *common) handlerCell(h *inspect.HandlerState, column int) canvas.Cell {
	word := words.Handler(h.State)
	switch column {
	case 0:
		return canvas.Cell{Token: word.Token, Text: word.String()}
	case 1:
		switch {
		case h.Parent != "":
			return canvas.Cell{Text: childName(h)}
		case isOut(h):
			return canvas.Cell{Token: theme.Dim, Text: c.world.nameOf(h)}
		}
		return canvas.Cell{Text: c.world.nameOf(h)}
	case 2:
		return canvas.Cell{Token: theme.Dim, Text: h.Kind}
	case 3:
		return canvas.Cell{Token: theme.Dim, Text: verdict.Try(h)}
	case 4:
		return c.next(h)
	case 5:
		return canvas.Cell{Token: theme.Dim, Text: words.Took(h.Took)}
	}
	if h.Error != nil && h.State != inspect.PhaseDone {
		return canvas.Cell{Token: word.Token, Text: h.Error.Kind + ": " + h.Error.Message}
	}
	if h.State == inspect.PhaseDone || h.State == inspect.PhaseRetrying {
		return canvas.Cell{}
	}
	return canvas.Cell{Token: theme.Dim, Text: c.note(h)}
}

func joined(names []string) string { return strings.Join(names, ", ") }
