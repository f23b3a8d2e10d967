package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// patchTimeout limits the last patches of an operator that is stopping, after its time to exit is
// over. The queue waits slightly longer, so that they end before the operator does.
const patchTimeout = queue.AbandonAfter - 100*time.Millisecond

// guardAfter is how long a cycle may take until its first request for the status is guarded too: meanwhile,
// another object may have got the same name. A version of a list may be an old one from the beginning.
const guardAfter = time.Second

// writeHeld writes the changes that earlier cycles could not write. It returns true if there is nothing left to
// write, and if that has made no newer version of the object. If the object is gone, there is
// nothing to write, but its handlers must not be called again.
func (c *cycle) writeHeld(ctx context.Context) (ready bool, err error) {
	box := &c.memory.outbox
	if box.held == nil {
		return true, nil
	}
	if ended := c.batch.Ended(); ended || c.deleted() {
		box.held = nil
		c.view.stored = box.overlay(c.view.tree)
		return !ended, nil
	}
	err = c.sendOutbox(ctx, true)
	changed := c.sent.changed
	c.sent.answer, c.sent.changed = nil, false
	if err != nil {
		return false, err
	}
	c.view.stored = box.overlay(c.view.tree)
	return !changed, nil
}

// apply sends what the cycle has collected: the changes by handlers and the operator's own. Changes that the API server
// does not accept are held for the next cycles.
func (c *cycle) apply(ctx context.Context) error {
	if c.batch.Ended() {
		if !c.writes.empty() {
			c.subject.Logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		}
		c.sent.gone = true
		return nil
	}
	if c.plan.engaged() { // other objects are left alone
		c.view.setBrokenAside(c.writes.own)
	}
	if !c.writes.empty() {
		if err := c.view.progress.Touch(c.view.stored, "", c.writes.own); err != nil {
			return err
		}
	}
	return c.sendCollected(ctx, c.event() == watch.Listed || c.deps.now().Sub(c.began) > guardAfter)
}

func (c *cycle) sendCollected(ctx context.Context, guarded bool) error {
	collected := c.writes
	collected.handlers = c.writes.handlers.Take() // abandoned handlers may still change the old patch
	byHandlers := !collected.handlers.Empty()
	c.memory.outbox.put(collected)
	err := c.sendOutbox(ctx, guarded)
	if c.writes.finished {
		c.memory.life.resumed = true // even if there is an error
	}
	if err == nil {
		c.noteLoop(byHandlers)
	}
	return err
}

// sendOutbox sends the changes that the outbox holds.
func (c *cycle) sendOutbox(ctx context.Context, guarded bool) (err error) {
	box := &c.memory.outbox
	sent := *box.held
	err = box.send(&target{
		tree: c.view.tree, statusAlone: c.served.resource.HasSubresource("status"), logger: c.subject.Logger, warnOnce: c.memory.flags.warnOnce,
		send: func(p *patch.Patch) (remaining *patch.Patch, err error) {
			c.sent.changed, remaining, err = c.send(ctx, p, guarded)
			return remaining, err
		},
	})
	failed := !sent.since.IsZero()
	switch held := box.held; {
	case held != nil && err != nil:
		if !failed {
			held.since = c.deps.now()
		}
		if !isFenced(err) {
			observe.Tell(c.deps.sink, observe.Sent{
				Subject: c.unpostedSubject(), Handlers: held.about, Since: held.since, At: c.deps.now(), Again: failed, Err: err,
			})
		}
	case held == nil && err == nil:
		c.sent.recorded = c.sent.recorded || sent.finished
		if failed {
			observe.Tell(c.deps.sink, observe.Sent{Subject: c.subject, Handlers: sent.about, Since: sent.since, At: c.deps.now()})
		}
	}
	return err
}

// send sends a patch and notes the version that the patch makes: it is handled next. Changed reports whether the patch
// has made a version; remaining is the part of the patch that was not accepted.
func (c *cycle) send(ctx context.Context, p *patch.Patch, guarded bool) (changed bool, remaining *patch.Patch, err error) {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := sendPatch(ctx, c.deps, c.served.resource, c.object, p, guarded, c.subject.Logger, c.subject)
	patched, _ := result.Object.(*object.Object)
	if patched != nil {
		// Even after an error: the earlier requests of the patch succeeded.
		c.memory.ledger.wrote(patched, c.deps.now().Add(c.deps.settings.ConsistencyTimeout))
	}
	switch {
	case err != nil:
		return false, result.Remaining, fmt.Errorf("patch %s: %w", c.object, err)
	case result.Gone:
		c.subject.Logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		return true, nil, nil
	case result.Remaining != nil:
		c.subject.Logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
		changed = true
	case (c.record.released || c.plan.finalizer == finalizerRemoved) && patched != nil && patched.Deleting:
		c.memory.ledger.released(vanishes(patched))
		return true, nil, nil
	}
	if patched == nil {
		return changed, result.Remaining, nil
	}
	c.memory.warnPruned(c.subject.Logger, c.served.resource, p, patched)
	c.sent.answer = patched
	return changed || patched.ResourceVersion != c.object.ResourceVersion, result.Remaining, nil
}

// withGrace returns a context that ends some time after its parent: what handlers did must be
// recorded even if the operator is stopping.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}
