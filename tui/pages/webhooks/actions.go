package webhooks

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ replay, filter key.Binding }{
	replay: parts.Key("P", "replay"),
	filter: parts.Key("/", "filter"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	return []parts.Action{
		{Binding: keys.replay, Name: "replay the review with the current code, as a dry run", Column: parts.Act, Unavailable: p.noReplay(), Do: p.replay},
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
	}
}

// noReplay returns why the review cannot be replayed.
func (p *Page) noReplay() string {
	if p.current() == nil {
		return "no review is selected"
	}
	return p.screen.State.NotOperating()
}

func (p *Page) replay() tea.Msg {
	r := p.current()
	return parts.Request{What: "replayed " + p.screen.State.ReviewTitle(r), Intent: runner.Intent{Kind: runner.IntentReplay, Value: r.ID}}
}

func (p *Page) typeFilter() tea.Msg {
	p.filter.Type()
	return nil
}
