package observe

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
)

// maxExamined is the number of causes whose decisions are examined. After so many causes, the operator has listed its objects,
// or has too many objects to examine all.
const maxExamined = 1000

// UnusedHandlers finds handlers that are never called although there are objects, because their filters reject all objects.
// It excludes update and delete handlers, because it is normal that no object is updated or deleted.
type UnusedHandlers struct {
	sink *Sink
	uses map[*handlers.Handler]*use
	left atomic.Int32 // number of causes to examine
}

// use records the calls of a handler, and the objects that its filters rejected.
type use struct {
	called atomic.Bool
	kept   atomic.Int32 // number of objects that a filter rejected
	why    atomic.Pointer[handlers.Mismatch]
}

// note records a decision about the handler.
func (u *use) note(d handlers.Decision, secrets *redact.Secrets) {
	switch {
	case u.called.Load():
	case d.Selected, d.Why.Kind == handlers.MismatchReason:
		u.called.Store(true) // the handler is about to be called, or may have been called before this start of the operator
	default:
		u.kept.Add(1)
		why := secrets.Mismatch(d.Why)
		u.why.CompareAndSwap(nil, &why)
	}
}

// causeExaminer is the part of [UnusedHandlers] that unsubscribes after maxExamined causes.
type causeExaminer struct{ unused *UnusedHandlers }

// NewUnusedHandlers subscribes to the sink.
func NewUnusedHandlers(sink *Sink, registry *handlers.Registry) *UnusedHandlers {
	u := &UnusedHandlers{sink: sink, uses: map[*handlers.Handler]*use{}}
	u.left.Store(maxExamined)
	for _, h := range registry.All() {
		switch h.Family {
		case handlers.Create, handlers.Resume, handlers.Event, handlers.Daemon, handlers.Timer, handlers.Reconcile:
			u.uses[h] = new(use)
		}
	}
	if len(u.uses) > 0 {
		sink.Subscribe(u)
		sink.Subscribe(&causeExaminer{u})
	}
	return u
}

// Kinds implements [Subscriber].
func (u *UnusedHandlers) Kinds() []Kind { return []Kind{KindAttemptStarted} }

// Receive implements [Subscriber].
func (u *UnusedHandlers) Receive(event Event) {
	if e, ok := event.(AttemptStarted); ok {
		if known := u.uses[e.Handler]; known != nil && !known.called.Load() {
			known.called.Store(true)
		}
	}
}

// Kinds implements [Subscriber].
func (x *causeExaminer) Kinds() []Kind { return []Kind{KindPlanned} }

// Receive implements [Subscriber].
func (x *causeExaminer) Receive(event Event) {
	e, ok := event.(Planned)
	if !ok || e.Cause == nil {
		return
	}
	if x.unused.left.Add(-1) <= 0 {
		x.unused.sink.replace(x, nil)
		return
	}
	for _, group := range []handlers.Group{handlers.Changing, handlers.Watching, handlers.Spawning, handlers.Reconciling} {
		for _, d := range e.Handlers.Explain(group, e.Cause) {
			if known := x.unused.uses[d.Handler]; known != nil && !e.Cause.Deleted {
				known.note(d, e.Subject.Secrets)
			}
		}
	}
}

// Report logs the handlers that were not called since the start of the operator.
func (u *UnusedHandlers) Report(logger *slog.Logger, after time.Duration) {
	for h, known := range u.uses {
		if known.called.Load() || known.kept.Load() == 0 {
			continue
		}
		logger.Warn(fmt.Sprintf("%s was not called since the start %s ago, although there are objects: its filters kept out all of them. "+
			"Check the filter; the workbench shows each object with its reason", h, after), EventKey, LogAlarmUnused,
			"objects", known.kept.Load(), "filter", string(known.why.Load().Kind), "path", known.why.Load().Path)
	}
}
