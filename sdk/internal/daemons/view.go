package daemons

import (
	"slices"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Views are what the tasks of an object have decoded of one version of it. They are shared,
// and kept only as long as somebody looks at them: the text is enough to make them again.
// The zero value is ready to be used.
type Views struct {
	mu   sync.Mutex
	of   weak.Pointer[object.Object]
	seen []any // weak pointers, one of each type that somebody has looked for
}

// View returns a version of an object as a V, the same one to all who look at it at
// the same time. If nobody does yet, it is decoded.
func View[V any](v *Views, version *object.Object, decode func(*object.Object) (*V, error)) (*V, error) {
	if view := share[V](v, version, nil); view != nil {
		return view, nil
	}
	view, err := decode(version) // by functions of users, who may look at other views
	if err != nil {
		return view, err
	}
	return share(v, version, view), nil
}

// share returns the view that somebody looks at already; if there is none, it is the given one
// from now on, if that is not nil.
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
