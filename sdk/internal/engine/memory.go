package engine

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// memory is what the operator remembers of one object between its events: nothing
// that would have to survive a restart. Only the object's worker touches it.
type memory struct {
	namespace string // of the object

	// listed tells that the object was there before the operator: it is to be resumed.
	listed bool

	// handled tells that all handlers were done at least once, so that later listings
	// do not resume the object again.
	handled bool

	// deleted tells that all handlers of the deletion are done: their records are purged
	// ahead of the finalizer, and the object alone would not tell.
	deleted bool

	// released tells that the object is being deleted and that the finalizer was taken off:
	// versions that still have it are old.
	released bool

	// untransformed are what handlers want to be changed in the newest version of the object,
	// and what could not be, as the object had changed meanwhile.
	untransformed []patch.Fn

	unwritten unwritten // marks that the object has no room for

	throttle queue.Throttler

	// wrote is the version that the operator's last patch has made, until it is seen
	// or until the deadline.
	wrote    string
	deadline time.Time

	// settled is the version that the last patch has made if nothing is left to do for it; empty
	// once it is seen.
	settled string

	// asleep is until when there is nothing to do for the object; zero if there is.
	asleep time.Time

	// hurry tells that somebody wishes the delayed handlers to be attempted now.
	hurry atomic.Bool

	// counted is the cause that the meter knows of; empty if there is none, or no meter.
	counted handlers.Reason

	// warned are the warnings about the object that need not be repeated. Daemons have some, too.
	warnings sync.Mutex
	warned   map[string]bool

	memo any // what the object's handlers share

	essence uint64 // a hash of the object as idle timers have seen it

	// The rest is for other goroutines too: those of the daemons, and who ends them.

	group  atomic.Pointer[daemons.Group] // of daemons and timers; nil if there are none
	report atomic.Pointer[report]        // nil without an inspector

	retrying atomic.Int32 // handlers that are to be tried again; only counted with a meter

	held atomic.Bool // the object has the finalizer: it cannot vanish while something runs for it
	left atomic.Bool // nobody handles the object any more
}

// outdated tells whether an object is older than what the operator itself wrote, and
// until when to wait for the newer one.
func (m *memory) outdated(obj *object.Object, now time.Time) (deadline time.Time, waiting bool) {
	if m.wrote == "" {
		return time.Time{}, false
	}
	if !object.Older(obj.ResourceVersion, m.wrote) || !now.Before(m.deadline) {
		m.wrote = ""
		return time.Time{}, false
	}
	return m.deadline, true
}

func (m *memory) warnOnce(what string) bool {
	m.warnings.Lock()
	defer m.warnings.Unlock()
	if m.warned[what] {
		return false
	}
	if m.warned == nil {
		m.warned = make(map[string]bool, 1)
	}
	m.warned[what] = true
	return true
}

// memories are those of all objects.
type memories struct {
	mu sync.Mutex
	m  map[queue.Key]*memory

	memos map[index.Origin]map[string]any // of objects that are only indexed: see memo
}

func (ms *memories) recall(key queue.Key, namespace string, listed bool, newMemo func() any) *memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m, ok := ms.m[key]; ok {
		return m
	}
	m := &memory{namespace: namespace, listed: listed}
	if memo, known := ms.takeMemo(key, namespace); known {
		m.memo = memo
	} else if newMemo != nil {
		m.memo = newMemo()
	}
	if ms.m == nil {
		ms.m = make(map[queue.Key]*memory)
	}
	ms.m[key] = m
	return m
}

func (ms *memories) forget(key queue.Key) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.m[key]; m != nil {
		m.left.Store(true)
	}
	delete(ms.m, key)
}

// forgetWhere forgets objects of a resource and returns what was known of them.
func (ms *memories) forgetWhere(resource string, where func(queue.Key, *memory) bool) map[queue.Key]*memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	gone := map[queue.Key]*memory{}
	for key, m := range ms.m {
		if key.Resource == resource && where(key, m) {
			m.left.Store(true)
			gone[key] = m
			delete(ms.m, key)
		}
	}
	return gone
}

// find returns the memory of an object; nil if there is none.
func (ms *memories) find(key queue.Key) *memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.m[key]
}

// all returns the memories of all objects.
func (ms *memories) all() map[queue.Key]*memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return maps.Clone(ms.m)
}
