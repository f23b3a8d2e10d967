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
	ExtraFields []object.Path // fields outside of the essence that handlers look at
	Changing    []string      // ids of the handlers that keep their progress on the objects
	Indexes     []string      // ids of the indices that the objects are in, each once

	// OnlyIndexed reports whether the objects are only indexed, and always were.
	OnlyIndexed bool
}

// NewServedResource selects the handlers of a resource. If the objects are shown in the inspector,
// they are never regarded as only indexed.
func NewServedResource(registry *handlers.Registry, res *resources.Resource, inspected bool) *ServedResource {
	set := registry.ForResource(res)
	return &ServedResource{
		Resource:    res,
		Handlers:    set,
		ExtraFields: set.ExtraFields(),
		Changing:    IDsOf(set.Handlers(handlers.Changing)),
		Indexes:     slices.Compact(slices.Sorted(slices.Values(IDsOf(set.Handlers(handlers.Indexing))))),
		OnlyIndexed: !inspected && !set.Has(handlers.Changing) && !set.Has(handlers.Watching) && !set.Has(handlers.Spawning),
	}
}

// Narrowed reports whether the operator handles only its own selection and shards of the objects. Those that
// are only indexed are all needed for the indices.
func (s *ServedResource) Narrowed() bool {
	return s.Handlers.Has(handlers.Changing) || s.Handlers.Has(handlers.Watching) || s.Handlers.Has(handlers.Spawning)
}

// Replacing makes the resource the successor of an earlier definition of it. Objects that were
// handled before are remembered, so that they are not only indexed.
func (s *ServedResource) Replacing(before *ServedResource) *ServedResource {
	s.OnlyIndexed = s.OnlyIndexed && before.OnlyIndexed
	return s
}

// ServedResources finds how the objects of a resource are handled.
type ServedResources interface {
	// Served returns nil if the resource is not served.
	Served(key string) *ServedResource
}

// IDsOf returns the ids of handlers, in their order.
func IDsOf(handlers []*handlers.Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

// LearnsOfDeletions reports whether handlers of raw events or daemons are told that an object is gone.
func (s *ServedResource) LearnsOfDeletions() bool {
	return s.Handlers.Has(handlers.Watching) || s.Handlers.Has(handlers.Spawning)
}
