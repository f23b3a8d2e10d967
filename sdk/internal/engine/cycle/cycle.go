package cycle

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// cycle handles one object once, from the newest event to the patch with the outcome. It is used by one goroutine.
type cycle struct {
	deps    *core.Deps
	invoker *call.Invoker
	served  *core.ServedResource
	memory  *memory.Memory
	batch   *queue.Batch
	object  *object.Object // handled version of the object
	news    memory.News    // novelty of the version, which determines the steps of the cycle
	subject *observe.Subject
	began   time.Time

	view   *plan.View
	plan   plan.Plan
	calls  calls
	record plan.Record
	writes outbox.Writes // unsent changes
	sent   sent
}

// calls are the calls of handlers in one cycle.
type calls struct {
	out        plan.Outcomes
	requested  *memory.RetryRequest // retry request that was pending at the start; nil if there was none
	conditions core.ObjectConditions
	reconciles bool // the filters of the reconcile handler match the object
	left       bool // the lifecycle has not chosen all handlers of the retry request yet
	slot       call.Slot
}

// sent is the result of a cycle's requests.
type sent struct {
	answer   *object.Object // version that the last patch made; nil if it made none
	changed  bool           // the last patch changed the object, or found it changed
	gone     bool           // the object was deleted during the cycle
	recorded bool           // the outcomes of a finished cause were written
	later    bool           // a later cycle writes the conditions, or handles the newest version
	again    time.Duration  // time until the conditions can be written, or a step can start; 0 if nothing waits
	awaits   []string       // children that must be deleted before the finalizer is removed
}

// deleted reports whether the object does not exist.
func (c *cycle) deleted() bool { return c.batch.Newest.Type == watch.Deleted }

func (c *cycle) look(ctx context.Context) (err error) {
	c.view, err = plan.NewView(ctx, c.deps, c.served.ExtraFields, c.object, &c.memory.Outbox, func(mark *state.BrokenMark) {
		if c.memory.Flags.WarnOnce("broken " + mark.Error()) {
			observe.Emit(c.deps.Sink, observe.MarkBroken{Subject: c.subject, Mark: mark})
		}
	})
	return err
}

func (c *cycle) situation() *plan.Situation {
	return &plan.Situation{
		Served: c.served, Object: c.object, Event: c.batch.Newest.Type, Finalizer: c.deps.Settings.Finalizer, Memo: c.memory.Memo,
		Life: c.memory.Life, Retired: c.memory.Group.Load().Retired(), Requested: c.memory.Retry.Load(), Now: c.deps.Now(),
	}
}

// unpostedSubject returns the subject with a logger that posts no Kubernetes events.
func (c *cycle) unpostedSubject() *observe.Subject {
	if !c.deps.Settings.Posting.Loggers {
		return c.subject
	}
	return c.deps.UnpostedSubject(c.memory.Identity, c.served.Resource, c.object)
}

// newAttempt prepares an attempt at a handler of the object. The subject is the cycle's subject or, if the attempt must not
// post Kubernetes events, the result of unpostedSubject.
func (c *cycle) newAttempt(subject *observe.Subject, h *handlers.Handler, cause *handlers.Cause) *call.Attempt {
	return &call.Attempt{
		Subject: subject,
		Call: &handlers.Call{
			Cause: cause, Handler: h, Patch: c.writes.Handlers, Memo: c.memory.Memo,
			Logger: subject.Logger.With(observe.HandlerKey, h.ID), Recorder: subject.Recorder,
			SetCondition: func(given handlers.Condition) error { return c.calls.conditions.Set(given, c.object.Generation) },
		},
		Backoff: c.deps.Settings.DefaultBackoff, Slot: &c.calls.slot,
	}
}

func (c *cycle) key() queue.Key { return queue.KeyOf(c.served.Resource.Key(), c.object) }

// wrote records a version that the operator made.
func (c *cycle) wrote(made *object.Object) { c.memory.Wrote(made, c.strictUntil()) }

// strictUntil returns the end of the time in which the stream delivers a version that the operator has made or read now.
func (c *cycle) strictUntil() time.Time { return c.deps.Now().Add(c.deps.Settings.ConsistencyTimeout) }
