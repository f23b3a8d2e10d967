package background

import (
	"reflect"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// views are what the tasks of an object have decoded of one version of it. They are shared,
// and kept only as long as somebody looks at them: the text is enough to make them again.
type views struct {
	mu   sync.Mutex
	of   weak.Pointer[wire.Object]
	seen map[reflect.Type]any // weak pointers
}

// View returns a version of a task's object as a V, the same one to all who look at it at
// the same time. If nobody does yet, it is decoded.
func View[V any](t *Task, version *wire.Object, decode func(*wire.Object) (*V, error)) (*V, error) {
	v := &t.group.views
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := weak.Make(version); v.of != of {
		v.of, v.seen = of, nil
	}
	key := reflect.TypeFor[V]()
	if seen, ok := v.seen[key].(weak.Pointer[V]); ok {
		if view := seen.Value(); view != nil {
			return view, nil
		}
	}
	view, err := decode(version)
	if err != nil {
		return nil, err
	}
	if v.seen == nil {
		v.seen = make(map[reflect.Type]any, 1)
	}
	v.seen[key] = weak.Make(view)
	return view, nil
}
