package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Registry is the list of an operator's handlers. It is filled before the operator runs, and only
// read afterwards.
type Registry struct {
	handlers    []*Handler
	conditioned []resources.Selector // see [Registry.KeepConditions]
}

// Add registers a handler.
func (r *Registry) Add(h *Handler) {
	h.compile(nil)
	r.handlers = append(r.handlers, h)
}

// All returns all handlers in the order of registration.
func (r *Registry) All() []*Handler { return r.handlers }

// KeepConditions makes the operator keep conditions in the status of objects that have change or reconcile handlers.
func (r *Registry) KeepConditions(s resources.Selector) { r.conditioned = append(r.conditioned, s) }

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

// Admission returns the admission handlers in the order of registration.
func (r *Registry) Admission() []*Handler {
	var found []*Handler
	for _, h := range r.handlers {
		if h.Family.Group() == Admission {
			found = append(found, h)
		}
	}
	return found
}

// AdmissionDemands returns the selectors of the admission handlers. They need no permissions: the API server sends
// the objects.
func (r *Registry) AdmissionDemands() []resources.Demand {
	var demands []resources.Demand
	for _, h := range r.Admission() {
		demands = append(demands, resources.Demand{Selector: h.Selector})
	}
	return demands
}

// Demands returns the selectors of all handlers of watched objects, with the permissions that they need.
func (r *Registry) Demands() []resources.Demand {
	var demands []resources.Demand
	for _, h := range r.handlers {
		switch h.Family.Group() {
		case Changing, Spawning, Reconciling:
			demands = append(demands, resources.Demand{Selector: h.Selector, Watch: true, Patch: true})
		case Watching, Indexing:
			demands = append(demands, resources.Demand{Selector: h.Selector, Watch: true})
		}
	}
	return demands
}

// ForResource returns the handlers of one resource. It checks all selectors, so keep the result
// for as long as the resource is served.
func (r *Registry) ForResource(res *resources.Resource) *Set {
	s := &Set{conditions: slices.ContainsFunc(r.conditioned, func(s resources.Selector) bool { return s.Match(res) })}
	for _, h := range r.handlers {
		if h.Family.Group() != Activities && h.Selector.Match(res) {
			s.add(h)
		}
	}
	return s
}

// appendDistinct appends a handler, unless the same function is in the list under the same id.
func appendDistinct(to []*Handler, h *Handler) []*Handler {
	if slices.ContainsFunc(to, h.same) {
		return to
	}
	return append(to, h)
}
