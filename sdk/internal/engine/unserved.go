package engine

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// unserved tells the inspector which selectors have nothing to serve, and why.
func (ob *observer) unserved(resolution *resources.Resolution) []inspect.Unserved {
	if ob.reporter == nil {
		return nil
	}
	var out []inspect.Unserved
	ambiguous := map[resources.Selector]bool{}
	for _, a := range resolution.Ambiguous {
		ambiguous[a.Selector] = true
		out = append(out, inspect.Unserved{
			Selector: a.Selector.String(), Reason: "ambiguous", Handlers: ob.handlersOf(a.Selector), Matches: keysOf(a.Resources),
		})
	}
	for _, s := range resolution.Unresolved {
		if !ambiguous[s] {
			out = append(out, inspect.Unserved{Selector: s.String(), Reason: "unresolved", Handlers: ob.handlersOf(s)})
		}
	}
	for _, r := range resolution.NonWatchable {
		out = append(out, inspect.Unserved{Selector: r.Key(), Reason: "unwatchable"})
	}
	for _, r := range resolution.NonPatchable {
		out = append(out, inspect.Unserved{Selector: r.Key(), Reason: "unpatchable"})
	}
	return out
}

func (ob *observer) handlersOf(s resources.Selector) []string {
	var ids []string
	for _, h := range ob.config.Registry.All() {
		if h.Selector == s && h.Family.Group() != handlers.Activities {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

func keysOf(resources []resources.Resource) []string {
	keys := make([]string, len(resources))
	for i := range resources {
		keys[i] = resources[i].Key()
	}
	return keys
}
