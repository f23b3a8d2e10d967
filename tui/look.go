package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// looking identifies the view of an object that the session follows. If the facet is empty, the session follows no object.
type looking struct {
	ref   inspect.Ref
	facet runner.Facet
}

// look asks the session to follow the object that the page shows. On a page without an object, the session follows nothing.
func (a *app) look() tea.Cmd {
	var wanted looking
	if a.object != nil {
		if ref, facet := a.object.LooksAt(); facet != "" {
			wanted = looking{ref, facet}
		}
	}
	if wanted == a.looking {
		return nil
	}
	a.looking = wanted
	intent := runner.Intent{Kind: runner.IntentLook, Value: string(wanted.facet)}
	if wanted.facet != "" {
		intent.Object = &wanted.ref
	}
	return func() tea.Msg {
		if err := a.source.Do(a.ctx, intent); err != nil {
			return resultMsg{"reading from the cluster", err}
		}
		return nil
	}
}
