// Package memory remembers objects between their cycles.
package memory

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// Memory is everything that the operator remembers of one object between its cycles. It does not survive a restart. Only
// the object's worker uses it, except for the identity, the retry, the group and the flags, which any goroutine may use.
type Memory struct {
	Identity  *observe.Identity // identity in events about the object
	Namespace string            // namespace of the object
	Memo      any               // shared by the object's handlers
	Term      int64             // last term in which the object was handled
	Life      Life
	Ledger    Ledger         // versions that were handled and made
	Outbox    outbox.Outbox  // unwritten changes
	Handled   *HandledStates // object states for which handlers of the unfinished cause succeeded or failed; nil without such handlers
	Throttle  queue.Throttler
	Schedule  schedule
	Loop      HotLoop
	Retry     atomic.Pointer[RetryRequest]  // request to call delayed and failed handlers now; nil if there is none
	Group     atomic.Pointer[daemons.Group] // daemons and timers of the object; nil if there are none
	Flags     flags
}

// Life is the stage of the handling of an object.
type Life struct {
	Listed          bool // the object existed before the operator, so resume handlers are called
	FailuresRead    bool // the failures on the object were read
	Resumed         bool // all handlers succeeded or failed, so resume handlers are not called again
	DeletionHandled bool // all deletion handlers are done, and their progress is purged
	Unfinished      bool // the object has records of an unfinished cause
	Shared          bool // another process may have written records since this process has recorded an unfinished cause
	Foreign         bool // the answer in the ledger was read: another process has made it
	States          LastHandledWatch
}

// schedule is the time when an object is handled without an event.
type schedule struct {
	wakeAt      time.Time // zero if the object only waits for an event
	SleepsUntil time.Time // time when delayed handlers are due; zero if there are none
}

// flags may be read and set by any goroutine.
type flags struct {
	Failed       atomic.Pointer[FailedRef] // name of the object if it has permanent failures; else nil
	HasFinalizer atomic.Bool               // the object cannot vanish while its daemons and timers run
	Forgotten    atomic.Bool               // the memory was dropped
	Paused       atomic.Bool               // an annotation of the object pauses it

	mu     sync.Mutex
	warned map[string]bool // kinds of warnings that were logged for the object
}

// WakeAfter records when the object is handled next if no event arrives first.
func (m *Memory) WakeAfter(next *queue.Next, now time.Time) *queue.Next {
	m.Schedule.wakeAt = time.Time{}
	if next != nil {
		m.Schedule.wakeAt = now.Add(next.After)
	}
	return next
}

// Remaining returns when the object is handled next after an event without a newer version.
func (m *Memory) Remaining(now time.Time) *queue.Next {
	at := m.Schedule.wakeAt
	if strict := m.Ledger.strict; now.Before(strict) && (at.IsZero() || strict.Before(at)) {
		at = strict // the version that arrived may be newer
	}
	if at.IsZero() {
		return nil
	}
	return &queue.Next{After: at.Sub(now)}
}

// EnterTerm moves the memory to the current term. If the object changed since the last term, another process may have handled it, as EnterTerm
// reports: an unwritten outcome is older than the object's records, and is dropped. Otherwise the outcome is kept, because its handlers would be
// called again without it. But the version may be an old one, so the records are compared before their next use in any case. The starts of
// steps are forgotten in any case, see [outbox.Outbox.DropStarts].
func (m *Memory) EnterTerm(term int64, obj *object.Object) (outdated bool) {
	if m.Term == term {
		return false
	}
	m.Term, m.Life.Shared = term, true
	m.Outbox.DropStarts()
	if m.Ledger.knows(obj.ResourceVersion) && (m.Ledger.Answer == nil || !m.Life.Foreign) {
		return false
	}
	m.Outbox, m.Handled = outbox.Outbox{Steps: m.Outbox.Steps}, nil // the steps with results have had their effects
	return true
}

// Wrote records a version that the operator made, which the next cycle handles, see [Ledger.Wrote].
func (m *Memory) Wrote(made *object.Object, strict time.Time) {
	m.Life.Foreign = false
	m.Ledger.Wrote(made, strict)
}

// Found records a version with records of another process, which the operator has read and the next cycle handles.
func (m *Memory) Found(newest *object.Object, strict time.Time) {
	m.Ledger.Wrote(newest, strict)
	m.Life.Shared, m.Life.Foreign = true, true
}

// StartOver forgets the progress of the object after its records were removed, between two cycles.
func (m *Memory) StartOver() {
	m.Outbox, m.Handled = outbox.Outbox{}, nil
	m.Life.Unfinished, m.Life.DeletionHandled = false, false
}

// WarnOnce reports whether a warning is the first of its kind for the object.
func (f *flags) WarnOnce(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.warned == nil {
		f.warned = make(map[string]bool, 1)
	}
	first := !f.warned[kind]
	f.warned[kind] = true
	return first
}

// TakeRetry ends a request that was carried out, and the requests before it. A nil request is ignored.
func (m *Memory) TakeRetry(r *RetryRequest) {
	m.Retry.CompareAndSwap(r, nil)
	for ; r != nil; r = r.before {
		if !r.ended.Swap(true) {
			close(r.Taken)
		}
	}
}

// RetryNow adds a request to call handlers; the caller must requeue the object.
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
