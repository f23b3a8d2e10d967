package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// sink is where the reflector puts objects, as if it were a cache; they only pass by.
type sink struct {
	resource *resources.Resource
	handle   func(Event)
	listed   func(count int)
	live     live
}

func (s *sink) pass(kind string, item any) error {
	object, ok := item.(*object.Object)
	if !ok {
		return fmt.Errorf("%T in a stream of objects", item)
	}
	key, id := identify(object)
	if kind == Deleted {
		delete(s.live, key)
	} else if _, known := s.live[key]; !known {
		s.live[key] = id
	}
	s.handle(Event{Type: kind, Object: object})
	return nil
}

// Add passes a new object.
func (s *sink) Add(item any) error { return s.pass(Added, item) }

// Update passes a new version of an object.
func (s *sink) Update(item any) error { return s.pass(Modified, item) }

// Delete passes the last version of an object.
func (s *sink) Delete(item any) error { return s.pass(Deleted, item) }

// Replace passes a listing, after the ends of those that are not in it any more: a name
// may be in use by another object already.
func (s *sink) Replace(items []any, resourceVersion string) error {
	before := s.live
	s.live = make(live, len(items))
	objects := make([]*object.Object, 0, len(items))
	for _, item := range items {
		object, ok := item.(*object.Object)
		if !ok {
			return fmt.Errorf("%T in a list of objects", item)
		}
		key, id := identify(object)
		s.live[key] = id
		delete(before, key)
		objects = append(objects, object)
	}
	// The reflector shuffles what it was streamed; people like the order of the server.
	slices.SortFunc(objects, func(a, b *object.Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for key, id := range before {
		s.handle(Event{Type: Deleted, Object: key.vanished(id, s.resource, resourceVersion)})
	}
	for _, object := range objects {
		s.handle(Event{Type: Listed, Object: object})
	}
	if s.listed != nil {
		s.listed(len(items))
	}
	return nil
}

// Resync does nothing: there is nothing kept to be told again.
func (s *sink) Resync() error { return nil }
