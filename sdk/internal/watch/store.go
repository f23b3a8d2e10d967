package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// store is the cache of the reflector. It passes the objects on and keeps only their
// identities.
type store struct {
	resource *resources.Resource
	handle   func(Event)
	listed   func(count int)
	known    knownObjects
}

func (s *store) handleItem(kind string, item any) error {
	object, ok := item.(*object.Object)
	if !ok {
		return fmt.Errorf("%T in a stream of objects", item)
	}
	key, id := identify(object)
	if kind == Deleted {
		delete(s.known, key)
	} else if _, known := s.known[key]; !known {
		s.known[key] = id
	}
	s.handle(Event{Type: kind, Object: object})
	return nil
}

// Add passes on a new object.
func (s *store) Add(item any) error { return s.handleItem(Added, item) }

// Update passes on a new version of an object.
func (s *store) Update(item any) error { return s.handleItem(Modified, item) }

// Delete passes on the last version of an object.
func (s *store) Delete(item any) error { return s.handleItem(Deleted, item) }

// Replace passes on a list, after the deletions of the objects that are missing from it: another
// object may already have the same name.
func (s *store) Replace(items []any, resourceVersion string) error {
	before := s.known
	s.known = make(knownObjects, len(items))
	objects := make([]*object.Object, 0, len(items))
	for _, item := range items {
		object, ok := item.(*object.Object)
		if !ok {
			return fmt.Errorf("%T in a list of objects", item)
		}
		key, id := identify(object)
		s.known[key] = id
		delete(before, key)
		objects = append(objects, object)
	}
	// The reflector does not keep the order of streamed lists.
	slices.SortFunc(objects, func(a, b *object.Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for key, id := range before {
		s.handle(Event{Type: Deleted, Object: key.deleted(id, s.resource, resourceVersion)})
	}
	for _, object := range objects {
		s.handle(Event{Type: Listed, Object: object})
	}
	if s.listed != nil {
		s.listed(len(items))
	}
	return nil
}

// Resync does nothing, as there are no objects to repeat.
func (s *store) Resync() error { return nil }
