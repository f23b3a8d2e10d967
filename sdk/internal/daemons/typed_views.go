package daemons

import (
	"slices"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Views are the typed views of one version of an object. The tasks of the object share a view. A view is only kept while it
// is in use, because it can be decoded again. The zero value is ready to use. Views are safe for concurrent use.
type Views struct {
	mu   sync.Mutex
	of   weak.Pointer[object.Object]
	seen []any // weak pointers, one of each type
}

// View returns a version of an object as a V, and decodes it if no such view is in use. The view is
// shared and must not be changed.
func View[V any](v *Views, version *object.Object, decode func(*object.Object) (*V, error)) (*V, error) {
	if view := share[V](v, version, nil); view != nil {
		return view, nil
	}
	view, err := decode(version) // without the lock, because decode may call View for other types
	if err != nil {
		return view, err
	}
	return share(v, version, view), nil
}

// share returns the view of the version that is in use. If there is none, the given view is in use from then on, unless it
// is nil.
func share[V any](v *Views, version *object.Object, view *V) *V {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := weak.Make(version); v.of != of {
		v.of, v.seen = of, nil
	}
	isV := func(seen any) bool { _, ok := seen.(weak.Pointer[V]); return ok }
	if at := slices.IndexFunc(v.seen, isV); at >= 0 {
		if shared := v.seen[at].(weak.Pointer[V]).Value(); shared != nil {
			return shared
		}
		v.seen = slices.Delete(v.seen, at, at+1)
	}
	if view != nil {
		v.seen = append(v.seen, weak.Make(view))
	}
	return view
}
