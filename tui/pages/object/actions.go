package object

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ next, previous, back, handlers, why, log, wrap, filter key.Binding }{
	next:     parts.Key("tab", "next tab", "right"),
	previous: parts.Key("shift+tab", "", "left"),
	back:     parts.Key("esc", "back"),
	handlers: parts.Key("h", ""),
	why:      parts.Key("w", ""),
	log:      parts.Key("l", ""),
	wrap:     parts.Key("z", ""),
	filter:   parts.Key("/", ""),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	noLog := ""
	if p.tab != parts.LogTab {
		noLog = "only in the log (l)"
	}
	return []parts.Action{
		{Binding: keys.next, Name: "next tab", Column: parts.Go, Do: p.turn(p.tab + 1)},
		{Binding: keys.previous, Name: "previous tab", Column: parts.Go, Do: p.turn(p.tab + parts.ObjectTabs - 1)},
		{Binding: keys.back, Name: "back", Column: parts.Go, Do: func() tea.Msg { return parts.Back{} }},
		{Binding: keys.handlers, Name: "handlers of the object", Column: parts.Look, Do: p.turn(parts.HandlersTab)},
		{Binding: keys.why, Name: "why handlers ran or did not", Column: parts.Look, Do: p.turn(parts.WhyTab)},
		{Binding: keys.log, Name: "log of the object", Column: parts.Look, Do: p.turn(parts.LogTab)},
		parts.Retry(p.screen, p.last, p.gone),
		p.retryHandler(),
		parts.PauseObject(p.screen, p.last, p.gone),
		parts.CopyName(p.last),
		{Binding: keys.wrap, Name: "wrap or cut the lines of the log", Column: parts.Look, Unavailable: noLog, Do: p.toggleWrap},
		{Binding: keys.filter, Name: "filter the log", Column: parts.Go, Unavailable: noLog, Do: p.typeFilter},
	}
}

// retryHandler returns the action on the selected handler.
func (p *Page) retryHandler() parts.Action {
	handlers := model.CalledFirst(p.last)
	switch {
	case p.tab != parts.HandlersTab:
		return unavailable(parts.RetryHandler(p.screen, nil, "", p.gone), "only among the handlers (h)")
	case p.handlers.Cursor >= len(handlers):
		return unavailable(parts.RetryHandler(p.screen, nil, "", p.gone), "no handler is selected")
	}
	return parts.RetryHandler(p.screen, p.last, handlers[p.handlers.Cursor].ID, p.gone)
}

func unavailable(a parts.Action, why string) parts.Action {
	a.Unavailable = why
	return a
}

func (p *Page) turn(tab parts.ObjectTab) func() tea.Msg {
	return func() tea.Msg {
		p.tab = tab % parts.ObjectTabs
		return nil
	}
}

func (p *Page) toggleWrap() tea.Msg {
	p.log.Wrap = !p.log.Wrap
	return nil
}

func (p *Page) typeFilter() tea.Msg {
	p.log.Filter.Type()
	return nil
}

// Back clears the filter. It reports whether there was one.
func (p *Page) Back() bool {
	f := p.Filter()
	if f == nil || f.Text() == "" {
		return false
	}
	f.Clear()
	p.Refresh()
	return true
}
