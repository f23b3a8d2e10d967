package engine

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// servedResource is a resource with the handlers of its objects.
type servedResource struct {
	resource    *resources.Resource
	handlers    *handlers.Set
	extraFields []object.Path // fields outside of the essence that handlers look at
	changing    []string      // ids of the handlers that keep their progress on the objects
	indexes     []string      // ids of the indices that the objects are in, each once

	// onlyIndexed reports whether the objects are only indexed, and always were.
	onlyIndexed bool
}

// newServedResource selects the handlers of a resource. If the objects are shown in the inspector,
// they are never regarded as only indexed.
func newServedResource(registry *handlers.Registry, res *resources.Resource, inspected bool) *servedResource {
	set := registry.ForResource(res)
	return &servedResource{
		resource:    res,
		handlers:    set,
		extraFields: set.ExtraFields(),
		changing:    idsOf(set.Handlers(handlers.Changing)),
		indexes:     slices.Compact(slices.Sorted(slices.Values(idsOf(set.Handlers(handlers.Indexing))))),
		onlyIndexed: !inspected && !set.Has(handlers.Changing) && !set.Has(handlers.Watching) && !set.Has(handlers.Spawning),
	}
}

// narrowed reports whether the operator handles only its own selection and shards of the objects. Those that
// are only indexed are all needed for the indices.
func (s *servedResource) narrowed() bool {
	return s.handlers.Has(handlers.Changing) || s.handlers.Has(handlers.Watching) || s.handlers.Has(handlers.Spawning)
}

// replacing makes the resource the successor of an earlier definition of it. Objects that were
// handled before are remembered, so that they are not only indexed.
func (s *servedResource) replacing(before *servedResource) *servedResource {
	s.onlyIndexed = s.onlyIndexed && before.onlyIndexed
	return s
}

// servedResources finds how the objects of a resource are handled.
type servedResources interface {
	// served returns nil if the resource is not served.
	served(key string) *servedResource

	// indexer returns what indexes the objects of a namespace; nil if nothing does.
	indexer(resource, namespace string) *indexer
}

func idsOf(handlers []*handlers.Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

// learnsOfDeletions reports whether handlers of raw events or daemons are told that an object is gone.
func (s *servedResource) learnsOfDeletions() bool {
	return s.handlers.Has(handlers.Watching) || s.handlers.Has(handlers.Spawning)
}
