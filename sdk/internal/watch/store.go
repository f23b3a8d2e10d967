package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// store takes the place of the reflector's cache. It passes objects on, and keeps only their identities.
type store struct {
	resource *resources.Resource
	keep     func(*object.Object) bool // nil to keep all
	comeBack bool                      // a deleted object may only have left the label selection, and can return
	handle   func(Event)
	listed   func(count int)
	known    knownObjects
	versions versions

	stale     func(what string, err error) // called for each dropped outdated version
	staleList func(error)
	restored  func(bool) bool // sets whether the server lost its newer state, and returns the previous value
}

func (s *store) handleItem(kind string, item any) error {
	object, ok := item.(*object.Object)
	if !ok {
		return fmt.Errorf("%T in a stream of objects", item)
	}
	key, id := identify(object)
	if s.keep != nil && !s.keep(object) {
		delete(s.known, key)
		return nil
	}
	version := numberOf(object.ResourceVersion)
	known, exists := s.known[key]
	switch {
	case s.versions.buried(key):
		s.stale(object.String(), errBuried)
		return nil
	case kind == Deleted:
		delete(s.known, key)
		if object.UID != "" && !s.comeBack {
			s.versions.bury(key)
		}
	case exists && version < known.version && version != 0:
		s.stale(object.String(), errOutdated)
		return nil
	case exists:
		s.known[key] = knownObject{known.identity, version}
	default:
		s.known[key] = knownObject{id, version}
	}
	s.versions.seen(version)
	s.handle(Event{Type: kind, Object: object})
	return nil
}

// Add passes on a new object.
func (s *store) Add(item any) error { return s.handleItem(Added, item) }

// Update passes on a new version of an object.
func (s *store) Update(item any) error { return s.handleItem(Modified, item) }

// Delete passes on the last version of an object.
func (s *store) Delete(item any) error { return s.handleItem(Deleted, item) }

// Replace passes on a list. Before it, it passes on deletions of known objects that are not in the list, because a listed
// object may have the name of a deleted object. It returns an error for a list that is older than the newest known version,
// so that the reflector lists the objects again.
func (s *store) Replace(items []any, resourceVersion string) error {
	objects := make([]*object.Object, 0, len(items))
	for _, item := range items {
		object, ok := item.(*object.Object)
		if !ok {
			return fmt.Errorf("%T in a list of objects", item)
		}
		if s.keep == nil || s.keep(object) {
			objects = append(objects, object)
		}
	}
	if err := s.versions.list(resourceVersion, objects, s.restored(false)); err != nil {
		s.staleList(err)
		return err
	}
	count := len(items)
	clear(items) // so that each object can be collected after it was handled
	before, complete := s.known, s.versions.complete(resourceVersion)
	s.known = make(knownObjects, len(objects))
	outdated := map[*object.Object]bool{}
	for _, object := range objects {
		key, id := identify(object)
		version := numberOf(object.ResourceVersion)
		// If a list is complete up to the known version but has an older one, the known version is lost, because the
		// server was restored from a backup.
		if known := before[key]; version < known.version && version != 0 && complete < known.version {
			s.stale(object.String(), errOutdated)
			outdated[object], version = true, known.version
		}
		s.known[key] = knownObject{id, version}
		s.versions.unbury(key)
		delete(before, key)
	}
	// The reflector does not keep the order of streamed lists.
	slices.SortFunc(objects, func(a, b *object.Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for key, known := range before {
		gone := key.deleted(known.identity, s.resource, resourceVersion)
		if gone.UID != "" && !s.comeBack {
			s.versions.bury(key)
		}
		if s.keep == nil || s.keep(gone) {
			s.handle(Event{Type: Deleted, Object: gone})
		}
	}
	for i, object := range objects {
		objects[i] = nil
		if !outdated[object] {
			s.handle(Event{Type: Listed, Object: object, Complete: complete})
		}
	}
	if s.listed != nil {
		s.listed(count)
	}
	return nil
}

// Resync does nothing, because the store keeps no objects.
func (s *store) Resync() error { return nil }
