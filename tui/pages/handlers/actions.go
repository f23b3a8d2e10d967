package handlers

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ objects, open, back, filter key.Binding }{
	objects: parts.Key("enter", "its objects"),
	open:    parts.Key("enter", "open"),
	back:    parts.Key("esc", "back"),
	filter:  parts.Key("/", "filter"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	filter := parts.Action{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter}
	if p.objects != nil {
		noObject := ""
		if p.objects.current() == nil {
			noObject = parts.NoObject
		}
		return []parts.Action{
			{Binding: keys.open, Name: "open the object", Column: parts.Go, Unavailable: noObject, Do: p.openObject},
			{Binding: keys.back, Name: "back", Column: parts.Go, Do: func() tea.Msg { return parts.Back{} }},
			parts.RetryHandler(p.screen, p.objects.current(), p.selected, false),
			filter,
		}
	}
	noHandler := ""
	if p.current() == nil {
		noHandler = "no handler is selected"
	}
	retry := parts.RetryFailed(p.screen, p.selected)
	if noHandler != "" {
		retry.Unavailable = noHandler
	}
	return []parts.Action{
		{Binding: keys.objects, Name: "objects of the handler, each with the decision", Column: parts.Go, Unavailable: noHandler, Do: p.openObjects},
		retry,
		filter,
	}
}

func (p *Page) openObjects() tea.Msg {
	p.objects = newObjectList(p.screen, p.selected)
	return nil
}

func (p *Page) openObject() tea.Msg {
	return parts.OpenObject{Ref: p.objects.current().Ref, Tab: parts.HandlersTab}
}

func (p *Page) typeFilter() tea.Msg {
	p.Filter().Type()
	return nil
}

// Back clears the filter, or closes the objects of a handler. It reports whether there was
// anything to leave.
func (p *Page) Back() bool {
	switch f := p.Filter(); {
	case f.Text() != "":
		f.Clear()
		p.Refresh()
	case p.objects != nil:
		p.objects = nil
	default:
		return false
	}
	return true
}
