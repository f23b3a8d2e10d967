package plan

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct{ fold, plan, cancel key.Binding }{
	fold:   parts.Key("enter", "unfold"),
	plan:   parts.Key("n", "plan now"),
	cancel: parts.Key("x", "cancel"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	noShape := ""
	if p.shape() < 0 {
		noShape = "no entry is selected"
	}
	running, idle := "", "no plan is being made"
	if !p.screen.Planning.Running.IsZero() {
		running, idle = "a plan is being made; x cancels it", ""
	}
	if c := p.screen.State.Cluster; running == "" && c.Phase != runner.ClusterReady {
		running = "no cluster answers"
	}
	return []parts.Action{
		{Binding: keys.fold, Name: "objects and changes of the entry, or fold them", Column: parts.Look, Unavailable: noShape, Do: p.fold},
		{Binding: keys.plan, Name: "make a plan of the saved code", Column: parts.Act, Everywhere: true, Unavailable: running, Do: func() tea.Msg { return parts.StartPlan{} }},
		{Binding: keys.cancel, Name: "cancel the plan", Column: parts.Act, Unavailable: idle, Do: func() tea.Msg { return parts.CancelPlan{} }},
	}
}

// shape returns the shape at the cursor, or -1.
func (p *Page) shape() int {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor].shape
	}
	return -1
}

// fold folds or unfolds the shape at the cursor, and moves the cursor to its title.
func (p *Page) fold() tea.Msg {
	shape := p.shape()
	p.open[shape] = !p.open[shape]
	p.collect()
	p.point(shape)
	return nil
}
