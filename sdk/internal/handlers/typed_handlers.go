package handlers

import "github.com/kopf-dev/kopf/sdk/internal/resources"

// Typed returns the handlers of a resource that read its objects into Go types with fields. Handlers of
// several resources are left out: their types may have the fields of any of them.
func (r *Registry) Typed(res *resources.Resource) []*Handler {
	var typed []*Handler
	for _, h := range r.handlers {
		if h.ObjectType != nil && h.Family.Group() != Activities && !h.Selector.Several() && h.Selector.Match(res) {
			typed = append(typed, h)
		}
	}
	return typed
}
