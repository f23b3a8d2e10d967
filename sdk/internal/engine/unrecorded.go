package engine

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// unrecorded is what a cycle has done and the API server has not accepted: the answer was strange, or
// none came. It is written before any other handler of changes is called, so that none is called twice
// because its record was refused. It is lost only with the process.
type unrecorded struct {
	handlers *patch.Patch // the changes and the results of handlers
	own      *patch.Patch // the operator's own changes, without the finalizer, which is decided on again

	outcomes   []string // ids of the handlers
	finished   bool     // nothing was left to do for the cause
	failed     bool     // not only postponed because the object has changed meanwhile
	since      time.Time
	rejections int // of the changes of handlers
}

func (u *unrecorded) empty() bool {
	return (u.handlers == nil || u.handlers.Empty()) && (u.own == nil || u.own.Empty())
}

// overlay returns the object as if the operator's own changes were written.
func (u *unrecorded) overlay(obj map[string]any) map[string]any {
	if u == nil || u.own == nil || u.own.Empty() {
		return obj
	}
	return patch.Merged(obj, u.own.Tree())
}

// hold keeps what is left of a patch after an error, or because the object has changed meanwhile.
func (c *cycle) hold(left unrecorded, err error) {
	if left.empty() {
		return
	}
	again := left.failed
	left.failed = left.failed || err != nil
	if isRejected(err) && left.own.Empty() {
		left.rejections++
	}
	if left.finished {
		c.memory.resumed = true
	}
	c.memory.unrecorded = &left
	if err != nil {
		observe.Tell(c.deps.sink, observe.OutcomesHeld{
			Subject: c.unpostedSubject(), Handlers: left.outcomes, Since: left.since, Again: again, Err: err,
		})
	}
}

// writeUnrecorded writes what earlier cycles could not. It returns true if there is nothing left to
// write, and if no newer version of the object is expected because of it.
func (c *cycle) writeUnrecorded(ctx context.Context) (ready bool, err error) {
	held := c.memory.unrecorded
	if held == nil {
		return true, nil
	}
	c.memory.unrecorded = nil
	if c.event == watch.Deleted || c.batch.Ended() {
		c.stored = c.memory.annotations.overlay(c.tree)
		return true, nil
	}
	c.guarded = true
	changed, left, err := c.transmit(ctx, *held)
	c.hold(left, err)
	c.patch, c.patched, c.postponed = patch.NewPatch(), nil, false
	if err != nil {
		return false, err
	}
	if c.memory.unrecorded == nil {
		c.recorded = held.finished
		if held.failed {
			observe.Tell(c.deps.sink, observe.OutcomesWritten{
				Subject: c.subject, Handlers: held.outcomes, Held: c.deps.now().Sub(held.since),
			})
		}
	}
	c.stored = c.memory.unrecorded.overlay(c.memory.annotations.overlay(c.tree))
	return !changed, nil
}
