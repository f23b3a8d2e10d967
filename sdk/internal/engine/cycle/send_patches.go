package cycle

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// patchTimeout limits the last patches of a stopping operator, after its exit timeout. The queue waits slightly longer,
// so that the patches end before the operator does.
const patchTimeout = queue.AbandonAfter - 100*time.Millisecond

// guardAfter is the age of a cycle from which its first status request is guarded too, because another object may have
// got the name by then. A version from a list may already be old at the start.
const guardAfter = time.Second

// writeHeld writes the unwritten changes of earlier cycles. It returns true if the cycle can continue with its version of
// the object: all changes are written, and writing them did not make a newer version. For a deleted object, it drops the
// changes. It returns false if the deletion arrived during the cycle, because the handlers must not be called again.
func (c *cycle) writeHeld(ctx context.Context) (ready bool, err error) {
	box := &c.memory.Outbox
	if box.Held == nil {
		return true, nil
	}
	if ended := c.batch.Ended(); ended || c.deleted() {
		box.Held = nil
		c.view.Stored = box.Overlay(c.view.Tree)
		return !ended, nil
	}
	err = c.sendOutbox(ctx, true)
	changed := c.sent.changed
	c.sent.answer, c.sent.changed = nil, false
	if err != nil {
		return false, err
	}
	c.view.Stored = box.Overlay(c.view.Tree)
	return !changed, nil
}

// apply sends the changes of the cycle: the changes by handlers, and the operator's own. Changes that the API server
// does not accept stay in the outbox, for the next cycles.
func (c *cycle) apply(ctx context.Context) error {
	if c.batch.Ended() {
		if !c.writes.Empty() {
			c.subject.Logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		}
		c.sent.gone = true
		return nil
	}
	if c.plan.Engaged() { // otherwise, the cycle handles no changes of the object, and leaves broken records as they are
		c.view.SetBrokenAside(c.writes.Own)
	}
	if !c.writes.Empty() {
		if err := c.view.Progress.Touch(c.view.Stored, "", c.writes.Own); err != nil {
			return err
		}
	}
	return c.sendCollected(ctx, c.batch.Newest.Type == watch.Listed || c.deps.Now().Sub(c.began) > guardAfter)
}

func (c *cycle) sendCollected(ctx context.Context, guarded bool) error {
	collected := c.writes
	collected.Handlers = c.writes.Handlers.Take() // abandoned handlers may still change the old patch
	byHandlers := !collected.Handlers.Empty()
	c.memory.Outbox.Put(collected)
	err := c.sendOutbox(ctx, guarded)
	if c.writes.Finished {
		c.memory.Life.Resumed = true // set even after an error
	}
	if err == nil {
		c.noteLoop(byHandlers)
	}
	return err
}

func (c *cycle) sendOutbox(ctx context.Context, guarded bool) (err error) {
	box := &c.memory.Outbox
	sent := *box.Held
	err = box.Send(&outbox.Target{
		Tree: c.view.Tree, StatusAlone: c.served.Resource.HasSubresource("status"), Logger: c.subject.Logger, WarnOnce: c.memory.Flags.WarnOnce,
		Send: func(p *patch.Patch) (remaining *patch.Patch, err error) {
			changed, remaining, err := c.send(ctx, p, guarded)
			c.sent.changed = c.sent.changed || changed // the outbox sends the rest of a refused patch again
			return remaining, err
		},
	})
	failed := !sent.Since.IsZero()
	switch held := box.Held; {
	case held != nil && err != nil:
		if !failed {
			held.Since = c.deps.Now()
		}
		if !core.IsFenced(err) {
			observe.Emit(c.deps.Sink, observe.Sent{
				Subject: c.unpostedSubject(), Handlers: held.About, Since: held.Since, At: c.deps.Now(), Again: failed, Err: err,
			})
		}
	case held == nil && err == nil:
		c.sent.recorded = c.sent.recorded || sent.Finished
		if failed {
			observe.Emit(c.deps.Sink, observe.Sent{Subject: c.subject, Handlers: sent.About, Since: sent.Since, At: c.deps.Now()})
		}
	}
	return err
}

// send sends a patch, and records the version that it makes, which is handled next. Changed reports whether the object
// has a newer version, even together with an error; remaining is the part of the patch that was not accepted.
func (c *cycle) send(ctx context.Context, p *patch.Patch, guarded bool) (changed bool, remaining *patch.Patch, err error) {
	ctx, cancel := core.WithGrace(ctx, patchTimeout)
	defer cancel()
	result, err := outbox.SendPatch(ctx, c.deps, c.served.Resource, cmp.Or(c.view.Newest, c.object), p, guarded, c.subject.Logger, c.subject)
	patched, _ := result.Object.(*object.Object)
	if patched != nil {
		// Recorded even after an error, because earlier requests of the patch succeeded.
		c.wrote(patched)
		changed = patched.ResourceVersion != c.object.ResourceVersion
	}
	switch {
	case err != nil:
		return changed, result.Remaining, fmt.Errorf("patch %s: %w", c.object, err)
	case result.Gone:
		c.subject.Logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		return true, nil, nil
	case result.Remaining != nil:
		c.subject.Logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
		changed = true
	case (c.record.Released || c.plan.Hold == plan.HoldRemoving) && patched != nil && patched.Deleting:
		c.memory.Ledger.Released(memory.Vanishes(patched))
		return true, nil, nil
	}
	if patched != nil {
		c.memory.WarnPruned(c.subject.Logger, c.served.Resource, p, patched)
		c.sent.answer = patched
	}
	return changed, result.Remaining, nil
}

// keepConditions writes the conditions of the object to the status, unless the object must be handled further.
func (c *cycle) keepConditions(ctx context.Context) {
	newest := cmp.Or(c.sent.answer, c.object)
	switch {
	case !c.served.Handlers.KeepsConditions(), c.plan.Cause == nil, c.plan.Hold.ForVersion(),
		c.record.Behind, c.memory.Outbox.Held != nil, c.sent.gone, c.object.Deleting, newest.Deleting, newest.Generation != c.object.Generation:
		return // if the object is to be handled further, another cycle follows
	}
	made, again, later := c.calls.conditions.Write(ctx, &core.Handling{
		Changing: c.plan.Changing, Progress: c.record.Progress, Failures: c.record.Failures,
		Reconciles: c.calls.reconciles, Essence: memory.HashEssence(c.plan.Cause.New),
		Generation: c.object.Generation, Newest: newest, Subject: c.subject,
	})
	c.sent.again, c.sent.later = again, later
	if made != nil {
		c.wrote(made)
		c.sent.answer, c.sent.changed = made, c.sent.changed || made.ResourceVersion != c.object.ResourceVersion
	}
}
