package indices

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ contents, back, copyEntry, filter, search key.Binding }{
	contents:  parts.Key("enter", "contents"),
	back:      parts.Key("esc", "back"),
	copyEntry: parts.Key("c", "copy"),
	filter:    parts.Key("/", "filter"),
	search:    parts.Key("/", "search"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	if p.opened {
		entry, ok := p.contents.current()
		none := ""
		if !ok {
			none = "no entry is selected"
		}
		return []parts.Action{
			{Binding: keys.back, Name: "back to the indices", Column: parts.Go, Do: func() tea.Msg { return parts.Back{} }},
			{Binding: keys.copyEntry, Name: "copy the entry", Column: parts.Look, Unavailable: none, Do: func() tea.Msg {
				return parts.Copy{Text: entry.Key + "\t" + entry.Value}
			}},
			{Binding: keys.search, Name: "search keys and values", Column: parts.Go, Do: p.typeFilter},
		}
	}
	none := ""
	if p.current() == nil {
		none = "no index is selected"
	}
	return []parts.Action{
		{Binding: keys.contents, Name: "keys and values of the index", Column: parts.Go, Unavailable: none, Do: p.open},
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
	}
}

func (p *Page) open() tea.Msg {
	p.opened = true
	return nil
}

func (p *Page) typeFilter() tea.Msg {
	p.Filter().Type()
	return nil
}

// Back clears the filter or the search, or closes the contents. It reports whether there was anything to leave.
func (p *Page) Back() bool {
	switch f := p.Filter(); {
	case f.Text() != "":
		f.Clear()
		p.Refresh()
	case p.opened:
		p.opened, p.contents = false, nil
		p.Refresh()
	default:
		return false
	}
	return true
}
