package requests

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ order, filter key.Binding }{
	order:  parts.Key("s", "order"),
	filter: parts.Key("/", "filter"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	return []parts.Action{
		{Binding: keys.order, Name: "order by resource, count, rate or duration", Column: parts.Look, Do: p.nextOrder},
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
	}
}

func (p *Page) nextOrder() tea.Msg {
	p.order = (p.order + 1) % orders
	p.Refresh()
	return parts.Notify{Text: "ordered " + orderNames[p.order]}
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
	p.Refresh()
	return true
}
