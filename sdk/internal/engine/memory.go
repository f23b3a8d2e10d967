package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// memory is all that the operator remembers of one object between its cycles. It does not survive a restart. Only the object's worker
// uses it, except for the identity, the retry, the group and the flags, which any goroutine may use.
type memory struct {
	identity  *observe.Identity // in events about the object
	namespace string            // of the object
	memo      any               // shared by the object's handlers
	term      int64             // the last term in which the object was handled
	life      life
	ledger    ledger         // versions that were handled and made
	outbox    outbox         // changes that are still to be written
	handled   *handledStates // states that the handlers of the present cause have seen; nil if none are done, or all
	throttle  queue.Throttler
	schedule  schedule
	loop      hotLoop
	retry     atomic.Pointer[retryRequest]  // call delayed and failed handlers now; nil if no reader asks for it
	group     atomic.Pointer[daemons.Group] // the daemons and timers of the object; nil if there are none
	flags     flags
}

// life is how far the handling of an object has come.
type life struct {
	listed          bool // the object existed before the operator: its handlers of resuming are called
	failuresRead    bool // its failures were read
	resumed         bool // all handlers succeeded or failed once: no handlers of resuming are called anymore
	deletionHandled bool // all handlers of the deletion are done; their progress is already purged
	unfinished      bool // there are records of a cause that is not finished
	states          lastHandledWatch
}

// schedule is when an object is handled without an event.
type schedule struct {
	wakeAt      time.Time // zero if only an event is awaited
	sleepsUntil time.Time // when delayed handlers are due; zero if the object does not wait for them
}

// flags are read and set by other goroutines than the object's worker.
type flags struct {
	failed       atomic.Pointer[failedRef] // the object has permanent failures; else nil
	hasFinalizer atomic.Bool               // the object cannot vanish while its daemons and timers run
	forgotten    atomic.Bool               // the object is not handled anymore
	paused       atomic.Bool               // the object itself asks to be left alone

	mu     sync.Mutex
	warned map[string]bool // warnings that are not repeated for the object
}

// wakeAfter remembers when the object is handled next if no event arrives before.
func (m *memory) wakeAfter(next *queue.Next, now time.Time) *queue.Next {
	m.schedule.wakeAt = time.Time{}
	if next != nil {
		m.schedule.wakeAt = now.Add(next.After)
	}
	return next
}

// remaining returns when the object is handled next after an event that has brought nothing new.
func (m *memory) remaining(now time.Time) *queue.Next {
	at := m.schedule.wakeAt
	if strict := m.ledger.strict; now.Before(strict) && (at.IsZero() || strict.Before(at)) {
		at = strict // the version that arrived may be a newer one
	}
	if at.IsZero() {
		return nil
	}
	return &queue.Next{After: at.Sub(now)}
}

// hasUnwritten reports whether the operator has done something for the object that it has not recorded yet.
func (m *memory) hasUnwritten() bool {
	return m != nil && !m.outbox.empty()
}

// startOver forgets what was done for the object, whose records were removed. Only the object's worker may use it,
// between two cycles.
func (m *memory) startOver() {
	m.outbox, m.handled = outbox{}, nil
	m.life.unfinished, m.life.deletionHandled = false, false
}

// warnOnce reports whether a warning is the first of its kind for the object.
func (f *flags) warnOnce(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.warned[kind] {
		return false
	}
	if f.warned == nil {
		f.warned = make(map[string]bool, 1)
	}
	f.warned[kind] = true
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
