package core

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ServedResource is a resource with the handlers of its objects.
type ServedResource struct {
	Resource    *resources.Resource
	Handlers    *handlers.Set
	ExtraFields []object.Path // fields outside of the essence that handlers select
	Changing    []string      // ids of the change handlers, which keep their progress on the objects
	Recorded    []string      // ids of all handlers with records on the objects
	Indexes     []string      // ids of the indices that contain the objects, sorted and unique
	OnlyIndexed bool          // the objects are only indexed, since the start
}

// NewServedResource selects the handlers of a resource. Objects that the inspector shows are never regarded as only indexed.
func NewServedResource(registry *handlers.Registry, res *resources.Resource, inspected bool) *ServedResource {
	set := registry.ForResource(res)
	return &ServedResource{
		Resource:    res,
		Handlers:    set,
		ExtraFields: set.ExtraFields(),
		Changing:    IDsOf(set.Handlers(handlers.Changing)),
		Recorded:    append(IDsOf(set.Handlers(handlers.Changing)), IDsOf(set.Handlers(handlers.Reconciling))...),
		Indexes:     slices.Compact(slices.Sorted(slices.Values(IDsOf(set.Handlers(handlers.Indexing))))),
		OnlyIndexed: !inspected && !handled(set),
	}
}

// handled reports whether a set has handlers of objects, besides those that index or review.
func handled(set *handlers.Set) bool {
	return slices.ContainsFunc([]handlers.Group{handlers.Changing, handlers.Watching, handlers.Spawning, handlers.Reconciling}, set.Has)
}

// Narrowed reports whether the operator handles only its own selection and shards of the objects. The indices need all objects.
func (s *ServedResource) Narrowed() bool { return handled(s.Handlers) }

// IDsOf returns the ids of the handlers, in the same order.
func IDsOf(handlers []*handlers.Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}
