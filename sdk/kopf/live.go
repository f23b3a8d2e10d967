package kopf

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// lastGood is the newest version of an object that decodes into T.
type lastGood[T any] struct {
	mu     sync.Mutex
	tried  *wire.Object // the last version that was looked at
	object *T
}

// of returns the newest version that decodes, and why there is a newer one that does not:
// once for each version.
func (l *lastGood[T]) of(task *background.Task) (*T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if task == nil {
		return l.object, nil
	}
	if view, ok := any(objectOfTask(task)).(*T); ok {
		return view, nil // nothing to decode, nothing to keep
	}
	live := task.Live()
	if live == l.tried {
		return l.object, nil
	}
	l.tried = live
	object, err := decodeAs[T](objectOfWire(live))
	if err != nil {
		return l.object, err
	}
	l.object = object
	return object, nil
}

// objectOfTask returns the newest version, with a tree of its own: the task keeps the
// version for long, and there may be thousands of them.
func objectOfTask(task *background.Task) *Object { return objectOfWire(task.Live().Detached()) }
