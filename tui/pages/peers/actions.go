package peers

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ freeze, release key.Binding }{
	freeze:  parts.Key("f", "freeze"),
	release: parts.Key("x", "release"),
}

// freezeTime is how long a freeze from the workbench lasts, unless it is ended earlier.
const freezeTime = "10m"

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	return []parts.Action{
		{Binding: keys.freeze, Name: "pause all with a priority up to 100 for " + freezeTime, Column: parts.Act, Everywhere: true, Unavailable: p.noPeering(), Do: freeze},
		{Binding: keys.release, Name: "remove the record of the peer", Column: parts.Act, Unavailable: p.noRelease(), Do: p.release},
	}
}

func (p *Page) noPeering() string {
	if why := p.screen.State.NotOperating(); why != "" {
		return why
	}
	for _, r := range p.rows {
		if r.peering.Exists {
			return ""
		}
	}
	return "the operator takes part in no peering"
}

func (p *Page) noRelease() string {
	if why := p.noPeering(); why != "" {
		return why
	}
	switch peer := p.current(); {
	case peer == nil:
		return "no peer is selected"
	case peer.Self:
		return "this operator would come back at once; p pauses it"
	}
	return ""
}

func freeze() tea.Msg {
	return parts.Request{What: "frozen for " + freezeTime, Intent: runner.Intent{Kind: runner.IntentFreeze, Value: freezeTime}}
}

func (p *Page) release() tea.Msg {
	identity := p.current().Identity
	return parts.Request{What: "released " + identity, Intent: runner.Intent{Kind: runner.IntentRelease, Value: identity}}
}
