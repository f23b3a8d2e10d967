package core

import (
	"strconv"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// maxGraves limits the number of tombstones. Late events arrive within seconds after a deletion.
const maxGraves = 4096

// graves are tombstones of objects that were deleted: the operator saw the deletion, or the API server does not have the object. An old version
// of such an object can arrive from a stream of a lagging API server, or from a daemon that ends after the deletion. Its deletion handlers would
// be called again, because their records were deleted with the object. It is safe for concurrent use.
type graves struct {
	mu    sync.Mutex
	gone  map[queue.Key]uint64 // resourceVersions of the cluster at which the objects are absent; 0 if they are not numbers
	order []queue.Key          // keys, oldest first
}

// Bury records that an object was deleted at a resourceVersion of the cluster, unless it has no UID: its successor has the same key.
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
		if g.order = append(g.order, key); len(g.order) > maxGraves {
			delete(g.gone, g.order[0])
			g.order = g.order[1:]
		}
	}
	g.gone[key] = max(g.gone[key], NumberOf(resourceVersion))
}

// IsLate reports whether an event delivers an old version of a deleted object. An event with a newer version of the cluster proves that the object
// exists again, for example after a restore from a backup; its tombstone is removed. If versions cannot be compared, lists are trusted. Listed
// reports whether any of the merged events comes from a list, and complete is their greatest [watch.Event.Complete].
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
	back := gone != 0 && NumberOf(event.Object.ResourceVersion) > gone || listed && (complete == 0 || complete >= gone)
	if back {
		delete(g.gone, key)
	}
	return !back
}

// NumberOf returns a resourceVersion as a number; 0 if it is not a number.
func NumberOf(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
