package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Registry has all handlers of an operator. It is filled before the operator runs, and
// only read from then on.
type Registry struct {
	handlers []*Handler
}

// Add registers a handler.
func (r *Registry) Add(h *Handler) {
	h.compile(nil)
	r.handlers = append(r.handlers, h)
}

// All returns all handlers in the order of registration.
func (r *Registry) All() []*Handler { return r.handlers }

// Activities returns the handlers of one family of activities.
func (r *Registry) Activities(family Family) []*Handler {
	var found []*Handler
	for _, h := range r.handlers {
		if h.Family == family {
			found = appendDistinct(found, h)
		}
	}
	return found
}

// Demands are the selectors of the handlers for whom objects are watched.
func (r *Registry) Demands() []resources.Demand {
	var demands []resources.Demand
	for _, h := range r.handlers {
		switch h.Family.Group() {
		case Changing, Spawning:
			demands = append(demands, resources.Demand{Selector: h.Selector, Watch: true, Patch: true})
		case Watching, Indexing:
			demands = append(demands, resources.Demand{Selector: h.Selector, Watch: true})
		}
	}
	return demands
}

// AdmissionDemands are the selectors of the admission handlers. They are resolved on their
// own: the API server asks about resources even if they cannot be watched or patched.
func (r *Registry) AdmissionDemands() []resources.Demand {
	var demands []resources.Demand
	for _, h := range r.handlers {
		if h.Family.Group() == Admission {
			demands = append(demands, resources.Demand{Selector: h.Selector})
		}
	}
	return demands
}

// ForResource returns the handlers of one resource. It looks at all selectors: keep the
// set as long as the resource is served.
func (r *Registry) ForResource(res *resources.Resource) *Set {
	s := &Set{}
	for _, h := range r.handlers {
		if h.Family.Group() != Activities && h.Selector.Match(res) {
			s.add(h)
		}
	}
	return s
}

// appendDistinct appends a handler unless its function is there under the same id: the
// first registration wins.
func appendDistinct(to []*Handler, h *Handler) []*Handler {
	if slices.ContainsFunc(to, h.same) {
		return to
	}
	return append(to, h)
}
