package daemons

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ open, why, log, filter key.Binding }{
	open:   parts.Key("enter", "open"),
	why:    parts.Key("w", "why"),
	log:    parts.Key("l", "log"),
	filter: parts.Key("/", "filter"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	o, none := p.selected(), ""
	if o == nil {
		none = parts.NoObject
	}
	return []parts.Action{
		{Binding: keys.open, Name: "open the object", Column: parts.Go, Unavailable: none, Do: p.open(parts.HandlersTab)},
		{Binding: keys.why, Name: "why handlers ran or did not", Column: parts.Look, Unavailable: none, Do: p.open(parts.WhyTab)},
		{Binding: keys.log, Name: "log of the object", Column: parts.Look, Unavailable: none, Do: p.open(parts.LogTab)},
		parts.RetryHandler(p.screen, o, p.handler, false),
		parts.CopyName(o),
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
	}
}

func (p *Page) open(tab parts.ObjectTab) func() tea.Msg {
	return func() tea.Msg { return parts.OpenObject{Ref: p.selected().Ref, Tab: tab} }
}

func (p *Page) typeFilter() tea.Msg {
	p.filter.Type()
	return nil
}

// Back clears the filter. It reports whether there was one.
func (p *Page) Back() bool {
	if p.filter.Text() == "" {
		return false
	}
	p.filter.Clear()
	return true
}
