package engine

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// memory is what the operator remembers of one object between its cycles. It does not survive a
// restart. Unless noted otherwise, only the object's worker uses it.
type memory struct {
	identity  *observe.Identity // in events about the object
	namespace string            // of the object
	memo      any               // what the object's handlers share

	listed          bool // the object existed before the operator: its handlers of resuming are called
	seen            bool // its failures were read
	resumed         bool // all handlers succeeded or failed once: no handlers of resuming are called anymore
	deletionHandled bool // all handlers of the deletion are done; their progress is already purged
	released        bool // the finalizer was removed from the deleted object: versions with it are stale

	term        int64          // the last term in which the object was handled
	unrecorded  *unrecorded    // what the API server has not accepted yet; nil if there is nothing
	handled     *handledStates // of the handlers of the present cause; nil if none are done, or all
	unfinished  bool           // there are records of a cause that is not finished
	annotations annotationBudget
	throttle    queue.Throttler
	sleepsUntil time.Time // when delayed handlers are due; zero if the object does not wait for it
	essenceHash uint64    // of the essence that idle timers saw last
	loop        hotLoop

	newest      uint64         // resourceVersion of the newest version that was seen or written; 0 if it is no number
	ownVersion  string         // resourceVersion of the operator's last patch until it is seen; else empty
	ownDeadline time.Time      // until when to wait for it
	ownWrite    *object.Object // that version; nil when it, or a later one, is seen
	echoVersion string         // resourceVersion of the last patch if nothing is left to do for it; else empty

	// The rest may be used by any goroutine.

	retry        atomic.Pointer[retryRequest]  // call delayed and failed handlers now; nil if nobody asked for it
	failed       atomic.Pointer[failedRef]     // the object has permanent failures; else nil
	group        atomic.Pointer[daemons.Group] // the daemons and timers of the object; nil if there are none
	hasFinalizer atomic.Bool                   // the object cannot vanish while its daemons and timers run
	forgotten    atomic.Bool                   // the object is not handled anymore
	paused       atomic.Bool                   // the object itself asks to be left alone

	mu     sync.Mutex
	warned map[string]bool // warnings that are not repeated for the object
}

// staleUntil reports whether an object is older than the operator's last patch, and until when to
// wait for the newer version.
func (m *memory) staleUntil(obj *object.Object, now time.Time) (deadline time.Time, stale bool) {
	m.releaseSeenWrite(obj)
	if m.ownVersion == "" {
		return time.Time{}, false
	}
	if !object.Older(obj.ResourceVersion, m.ownVersion) || !now.Before(m.ownDeadline) {
		m.ownVersion = ""
		return time.Time{}, false
	}
	return m.ownDeadline, true
}

// releaseSeenWrite lets go of the version that the operator's last patch made if it, or a later one, is seen. Thousands of
// objects with daemons would keep theirs otherwise: nothing else looks at it then.
func (m *memory) releaseSeenWrite(obj *object.Object) {
	if m.ownWrite != nil && !object.Older(obj.ResourceVersion, m.ownWrite.ResourceVersion) {
		m.ownWrite = nil
	}
}

// wrote remembers the version that the operator's patch made.
func (m *memory) wrote(patched *object.Object, deadline time.Time) {
	m.newest = max(m.newest, versionNumber(patched))
	m.ownVersion, m.ownDeadline, m.ownWrite = patched.ResourceVersion, deadline, patched
	patched.DropTree()
}

// saw remembers the version of an event. After a restored backup, it may be an older one.
func (m *memory) saw(obj *object.Object) { m.newest = versionNumber(obj) }

// isOutdated reports whether a newer version of the object has arrived before: the given one was kept from an
// earlier cycle, and no event is going to replace it.
func (m *memory) isOutdated(obj *object.Object) bool {
	version := versionNumber(obj)
	return version != 0 && version < m.newest && m.ownVersion == "" && m.ownWrite == nil
}

// listedUntil forgets the version that the operator's last patch made if a list that is complete up to a
// resourceVersion shows that it is lost: the server was restored from a backup.
func (m *memory) listedUntil(obj *object.Object, complete uint64) {
	if m.ownWrite == nil || complete == 0 || !object.Precedes(obj.ResourceVersion, m.ownWrite.ResourceVersion) {
		return
	}
	switch {
	case complete == watch.Everything:
		m.ownWrite = nil // it is still waited for: it may have been made after that
	case !object.Precedes(strconv.FormatUint(complete, 10), m.ownWrite.ResourceVersion):
		m.ownWrite, m.ownVersion = nil, ""
	}
}

// hasUnwritten reports whether the operator has done something for the object that it has not recorded yet.
func (m *memory) hasUnwritten() bool {
	return m != nil && (m.unrecorded != nil || len(m.annotations.unwritten) > 0)
}

// startOver forgets what was done for the object, whose records were removed. Only the object's worker may use it,
// between two cycles.
func (m *memory) startOver() {
	m.unrecorded, m.handled, m.annotations.unwritten = nil, nil, nil
	m.unfinished, m.deletionHandled, m.echoVersion = false, false, ""
}

// warnOnce reports whether a warning is the first of its kind for the object.
func (m *memory) warnOnce(kind string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.warned[kind] {
		return false
	}
	if m.warned == nil {
		m.warned = make(map[string]bool, 1)
	}
	m.warned[kind] = true
	return true
}

// retired returns the ids of daemons and timers that ended on their own and do not start again.
func (m *memory) retired() map[string]struct{} {
	if group := m.group.Load(); group != nil {
		return group.Retired()
	}
	return nil
}

// takeRetry ends requests that were carried out.
func (m *memory) takeRetry(r *retryRequest) {
	if r != nil {
		m.retry.CompareAndSwap(r, nil)
		r.end()
	}
}

// retryNow requests that handlers be called; the object must be queued again.
func (m *memory) retryNow(r *retryRequest) {
	for {
		r.before = m.retry.Load()
		if m.retry.CompareAndSwap(r.before, r) {
			break
		}
	}
	if group := m.group.Load(); group != nil {
		group.RetryNow(r.names)
	}
}

// daemonFailed reports whether daemons or timers of the object have failed permanently.
func (m *memory) daemonFailed() bool {
	group := m.group.Load()
	return group != nil && group.HasFailed()
}
