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
