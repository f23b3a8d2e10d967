package background

import (
	"slices"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// Views are what the tasks of an object have decoded of one version of it. They are shared,
// and kept only as long as somebody looks at them: the text is enough to make them again.
// The zero value is ready to be used.
type Views struct {
	mu   sync.Mutex
	of   weak.Pointer[wire.Object]
	seen []any // weak pointers, one of each type that somebody has looked for
}

// View returns a version of an object as a V, the same one to all who look at it at
// the same time. If nobody does yet, it is decoded.
func View[V any](v *Views, version *wire.Object, decode func(*wire.Object) (*V, error)) (*V, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := weak.Make(version); v.of != of {
		v.of, v.seen = of, nil
	}
	isV := func(seen any) bool { _, ok := seen.(weak.Pointer[V]); return ok }
	at := slices.IndexFunc(v.seen, isV)
	if at >= 0 {
		if view := v.seen[at].(weak.Pointer[V]).Value(); view != nil {
			return view, nil
		}
		v.seen = slices.Delete(v.seen, at, at+1)
	}
	view, err := decode(version)
	if err == nil {
		v.seen = append(v.seen, weak.Make(view))
	}
	return view, err
}
