// Package memory remembers objects between their cycles: the versions that were handled and made, the unwritten
// changes, and the progress of the handling.
package memory

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// Memory is all that the operator remembers of one object between its cycles. It does not survive a restart. Only the object's worker
// uses it, except for the identity, the retry, the group and the flags, which any goroutine may use.
type Memory struct {
	Identity  *observe.Identity // in events about the object
	Namespace string            // of the object
	Memo      any               // shared by the object's handlers
	Term      int64             // the last term in which the object was handled
	Life      Life
	Ledger    Ledger         // versions that were handled and made
	Outbox    outbox.Outbox  // changes that are still to be written
	Handled   *HandledStates // states that the handlers of the present cause have seen; nil if none are done, or all
	Throttle  queue.Throttler
	Schedule  schedule
	Loop      HotLoop
	Retry     atomic.Pointer[RetryRequest]  // call delayed and failed handlers now; nil if no reader asks for it
	Group     atomic.Pointer[daemons.Group] // the daemons and timers of the object; nil if there are none
	Flags     flags
}

// Life is how far the handling of an object has come.
type Life struct {
	Listed          bool // the object existed before the operator: its handlers of resuming are called
	FailuresRead    bool // its failures were read
	Resumed         bool // all handlers succeeded or failed once: no handlers of resuming are called anymore
	DeletionHandled bool // all handlers of the deletion are done; their progress is already purged
	Unfinished      bool // there are records of a cause that is not finished
	States          LastHandledWatch
}

// schedule is when an object is handled without an event.
type schedule struct {
	wakeAt      time.Time // zero if only an event is awaited
	SleepsUntil time.Time // when delayed handlers are due; zero if the object does not wait for them
}

// flags are read and set by other goroutines than the object's worker.
type flags struct {
	Failed       atomic.Pointer[FailedRef] // the object has permanent failures; else nil
	HasFinalizer atomic.Bool               // the object cannot vanish while its daemons and timers run
	Forgotten    atomic.Bool               // the object is not handled anymore
	Paused       atomic.Bool               // the object itself asks to be left alone

	mu     sync.Mutex
	warned map[string]bool // warnings that are not repeated for the object
}

// WakeAfter remembers when the object is handled next if no event arrives before.
func (m *Memory) WakeAfter(next *queue.Next, now time.Time) *queue.Next {
	m.Schedule.wakeAt = time.Time{}
	if next != nil {
		m.Schedule.wakeAt = now.Add(next.After)
	}
	return next
}

// Remaining returns when the object is handled next after an event that has brought nothing new.
func (m *Memory) Remaining(now time.Time) *queue.Next {
	at := m.Schedule.wakeAt
	if strict := m.Ledger.strict; now.Before(strict) && (at.IsZero() || strict.Before(at)) {
		at = strict // the version that arrived may be a newer one
	}
	if at.IsZero() {
		return nil
	}
	return &queue.Next{After: at.Sub(now)}
}

// HasUnwritten reports whether the operator has done something for the object that it has not recorded yet.
func (m *Memory) HasUnwritten() bool {
	return m != nil && !m.Outbox.Empty()
}

// StartOver forgets what was done for the object, whose records were removed. Only the object's worker may use it,
// between two cycles.
func (m *Memory) StartOver() {
	m.Outbox, m.Handled = outbox.Outbox{}, nil
	m.Life.Unfinished, m.Life.DeletionHandled = false, false
}

// WarnOnce reports whether a warning is the first of its kind for the object.
func (f *flags) WarnOnce(kind string) bool {
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

// Retired returns the ids of daemons and timers that ended on their own and do not start again.
func (m *Memory) Retired() map[string]struct{} {
	if group := m.Group.Load(); group != nil {
		return group.Retired()
	}
	return nil
}

// TakeRetry ends requests that were carried out.
func (m *Memory) TakeRetry(r *RetryRequest) {
	if r != nil {
		m.Retry.CompareAndSwap(r, nil)
		r.end()
	}
}

// RetryNow requests that handlers be called; the object must be queued again.
func (m *Memory) RetryNow(r *RetryRequest) {
	for {
		r.before = m.Retry.Load()
		if m.Retry.CompareAndSwap(r.before, r) {
			break
		}
	}
	if group := m.Group.Load(); group != nil {
		group.RetryNow(r.names)
	}
}

// DaemonFailed reports whether daemons or timers of the object have failed permanently.
func (m *Memory) DaemonFailed() bool {
	group := m.Group.Load()
	return group != nil && group.HasFailed()
}
