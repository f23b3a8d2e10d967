package core

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// maxGraves limits how many objects are remembered that are gone. A late event comes seconds after the deletion.
const maxGraves = 4096

// graves are the objects that are proven to be gone: their deletion was seen, or the API server does not have
// them anymore. A stream that starts again with a list of an API server that lags behind, and a daemon that
// ends at the wrong moment, can bring an old version of such an object. To handle it would repeat its deletion
// handlers, since what they did is forgotten with the object. It is safe for concurrent use.
type graves struct {
	mu    sync.Mutex
	gone  map[queue.Key]uint64 // the versions of the cluster without the objects; 0 if they are no numbers
	order []queue.Key          // of the burials, a ring
	next  int
}

// Bury remembers that an object is gone by a version of the cluster. An object without a uid is not remembered:
// its successor has the same key.
func (g *graves) Bury(resource, uid, resourceVersion string) {
	if uid == "" {
		return
	}
	key := queue.Key{Resource: resource, Object: uid}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone == nil {
		g.gone = map[queue.Key]uint64{}
	}
	if _, known := g.gone[key]; !known {
		if len(g.order) < maxGraves {
			g.order = append(g.order, key)
		} else {
			delete(g.gone, g.order[g.next])
			g.order[g.next] = key
			g.next = (g.next + 1) % maxGraves
		}
	}
	g.gone[key] = max(g.gone[key], NumberOf(resourceVersion))
}

// IsLate reports whether an event is of an object that was gone before, and is not its deletion. An event of a
// newer version of the cluster proves the opposite: the object is back, as after a server was restored from a
// backup. If versions cannot be compared, lists are right. Listed is whether any of the events that the event
// stands for was of a list, and complete is the greatest [watch.Event.Complete] of them.
func (g *graves) IsLate(key queue.Key, event watch.Event, listed bool, complete uint64) bool {
	if event.Type == watch.Deleted {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	gone, buried := g.gone[key]
	if !buried {
		return false
	}
	back := gone != 0 && versionNumber(event.Object) > gone || listed && (complete == 0 || complete >= gone)
	if back {
		delete(g.gone, key)
	}
	return !back
}
