package observe

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// setServed publishes the served resources, and the selectors without a resource.
func (i *Inspector) setServed(e ResourcesServed) {
	resolution := e.Resolution
	i.indices.publishResources(i.hub, resolution.Served)
	unserved := i.unserved(resolution)
	var reviewed []string
	if e.Reviewed != nil {
		reviewed = keysOf(e.Reviewed.Served)
		for _, u := range i.unserved(e.Reviewed) {
			// Other handlers can have the same selector.
			if !slices.ContainsFunc(unserved, func(known inspect.Unserved) bool { return known.Selector == u.Selector }) {
				unserved = append(unserved, u)
			}
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	served := make([]inspect.Resource, len(resolution.Served))
	for at := range resolution.Served {
		res := &resolution.Served[at]
		served[at] = inspect.Resource{Key: res.Key(), Kind: res.Kind, Short: shortName(res), Namespaced: res.Namespaced, Drift: i.drift[res.Key()]}
	}
	i.served = inspect.Served{Resources: served, Unserved: unserved, Reviewed: reviewed}
	i.publishServed()
}

// setDrift publishes the fields of Go types that the schema of a resource does not have.
func (i *Inspector) setDrift(resource string, drift []inspect.Drift) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.drift == nil {
		i.drift = map[string][]inspect.Drift{}
	}
	i.drift[resource] = drift
	for at := range i.served.Resources {
		if res := &i.served.Resources[at]; res.Key == resource {
			res.Drift = drift
		}
	}
	i.publishServed()
}

// publishServed publishes the resources with whether they are listed. The lock is held.
func (i *Inspector) publishServed() {
	served := i.served
	served.Resources = slices.Clone(served.Resources)
	for at := range served.Resources {
		res := &served.Resources[at]
		res.Listed = true
		for stream := range i.pending {
			if stream.Resource == res.Key {
				res.Listed = false
			}
		}
	}
	i.hub.SetServed(served)
	i.publishSettled()
}

// unserved returns the selectors without served resources, with the reasons.
func (i *Inspector) unserved(resolution *resources.Resolution) []inspect.Unserved {
	var out []inspect.Unserved
	ambiguous := map[resources.Selector]bool{}
	for _, a := range resolution.Ambiguous {
		ambiguous[a.Selector] = true
		out = append(out, inspect.Unserved{
			Selector: a.Selector.String(), Reason: inspect.UnservedAmbiguous, Handlers: i.handlersOf(a.Selector), Matches: keysOf(a.Resources),
		})
	}
	for _, s := range resolution.Unresolved {
		if !ambiguous[s] {
			out = append(out, inspect.Unserved{Selector: s.String(), Reason: inspect.UnservedUnresolved, Handlers: i.handlersOf(s)})
		}
	}
	rejected := make([]resources.Resource, len(resolution.Rejected))
	for at := range rejected {
		rejected[at] = resolution.Rejected[at].Resource
	}
	for _, list := range []struct {
		reason    inspect.UnservedReason
		resources []resources.Resource
	}{
		{inspect.UnservedUnwatchable, resolution.NonWatchable}, {inspect.UnservedUnpatchable, resolution.NonPatchable}, {inspect.UnservedConflicting, rejected},
	} {
		for _, key := range keysOf(list.resources) {
			out = append(out, inspect.Unserved{Selector: key, Reason: list.reason})
		}
	}
	return out
}

func (i *Inspector) handlersOf(s resources.Selector) []string {
	var ids []string
	for _, h := range i.registry.All() {
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
