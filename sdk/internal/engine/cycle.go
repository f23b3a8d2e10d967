package engine

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// cycle handles one object once: from the newest event to the patch with the outcome. It is used by one goroutine.
type cycle struct {
	deps    *deps
	invoker *invoker
	served  *servedResource
	memory  *memory
	batch   *queue.Batch
	object  *object.Object // the version that is handled
	news    news           // the use of that version
	subject *observe.Subject
	began   time.Time

	view   *view
	plan   plan
	calls  calls
	record record
	writes writes // changes that are still to be sent
	sent   sent
}

// calls are the calls of handlers in one cycle.
type calls struct {
	out       outcomes
	requested *retryRequest // handlers to call now; nil if there are none
	left      bool          // the lifecycle has not chosen all handlers of the request yet
	slot      slot
}

// sent is the result of a cycle's requests.
type sent struct {
	answer   *object.Object // the version that the last patch made; nil if it made none
	changed  bool           // the last patch has changed the object, or found it changed
	gone     bool           // the object was deleted meanwhile
	recorded bool           // the outcomes of a finished cause were written
}

// event returns the type of the newest event.
func (c *cycle) event() string { return c.batch.Newest.Type }

// deleted reports whether the object does not exist.
func (c *cycle) deleted() bool { return c.event() == watch.Deleted }

// look makes the view of the object.
func (c *cycle) look(ctx context.Context) (err error) {
	c.view, err = newView(ctx, c.deps, c.served.extraFields, c.object, &c.memory.outbox, func(mark *state.BrokenMark) {
		if c.memory.flags.warnOnce("broken " + mark.Error()) {
			observe.Tell(c.deps.sink, observe.MarkBroken{Subject: c.subject, Mark: mark})
		}
	})
	return err
}

// situation returns the input of the plan.
func (c *cycle) situation() *situation {
	return &situation{
		served: c.served, object: c.object, event: c.event(), finalizer: c.deps.settings.Finalizer, memo: c.memory.memo,
		life: c.memory.life, retired: c.memory.retired(), requested: c.memory.retry.Load(), now: c.deps.now(),
	}
}

// unpostedSubject returns the subject with a logger whose lines are not posted as Kubernetes events.
func (c *cycle) unpostedSubject() *observe.Subject {
	if !c.deps.settings.Posting.Loggers {
		return c.subject
	}
	subject := *c.subject
	subject.Logger = c.deps.objectLogger(c.served.resource, c.object)
	return &subject
}

// newAttempt prepares an attempt at a handler of the object. The subject is that of the cycle, or the
// unposted one.
func (c *cycle) newAttempt(subject *observe.Subject, h *handlers.Handler, cause *handlers.Cause) *attempt {
	return &attempt{
		subject: subject,
		call: &handlers.Call{
			Cause: cause, Handler: h, Patch: c.writes.handlers, Memo: c.memory.memo,
			Logger: subject.Logger.With(observe.HandlerKey, h.ID), Recorder: subject.Recorder,
		},
		backoff: c.deps.settings.DefaultBackoff, slot: &c.calls.slot,
	}
}

// key identifies the object.
func (c *cycle) key() queue.Key { return queue.KeyOf(c.served.resource.Key(), c.object) }
