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
	outbox := &c.memory.outbox
	if outbox.held == nil {
		return true, nil
	}
	if ended := c.batch.Ended(); ended || c.event == watch.Deleted {
		outbox.held = nil
		c.stored = outbox.overlay(c.tree)
		return !ended, nil
	}
	changed, err := c.sendOutbox(ctx, true)
	c.patched = nil
	if err != nil {
		return false, err
	}
	c.stored = outbox.overlay(c.tree)
	return !changed, nil
}

// apply sends what the cycle has collected: the changes by handlers and the operator's own. Changes that the API server
// does not accept are held for the next cycles. It reports whether that changed the object, so that a new event arrives.
func (c *cycle) apply(ctx context.Context) (changed bool, err error) {
	if c.batch.Ended() {
		if !c.writes.empty() {
			c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		}
		c.gone = true
		return false, nil
	}
	c.setBrokenAside()
	if !c.writes.empty() {
		if err := c.progress.Touch(c.stored, "", c.writes.own); err != nil {
			return false, err
		}
	}
	return c.sendCollected(ctx, c.event == watch.Listed || c.deps.now().Sub(c.began) > guardAfter)
}

func (c *cycle) sendCollected(ctx context.Context, guarded bool) (changed bool, err error) {
	collected := c.writes
	collected.handlers = c.writes.handlers.Take() // abandoned handlers may still change the old patch
	byHandlers := !collected.handlers.Empty()
	c.memory.outbox.put(collected)
	changed, err = c.sendOutbox(ctx, guarded)
	if c.writes.finished {
		c.memory.resumed = true // even if there is an error
	}
	if err == nil {
		c.noteLoop(byHandlers, changed)
	}
	return changed, err
}

// sendOutbox sends the changes that the outbox holds. It reports whether that changed the object.
func (c *cycle) sendOutbox(ctx context.Context, guarded bool) (changed bool, err error) {
	outbox := &c.memory.outbox
	sent := *outbox.held
	err = outbox.send(&target{
		tree: c.tree, statusAlone: c.served.resource.HasSubresource("status"), logger: c.logger, warnOnce: c.memory.warnOnce,
		send: func(p *patch.Patch) (remaining *patch.Patch, err error) {
			changed, remaining, err = c.send(ctx, p, guarded)
			return remaining, err
		},
	})
	failed := !sent.since.IsZero()
	switch held := outbox.held; {
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
		c.recorded = c.recorded || sent.finished
		if failed {
			observe.Tell(c.deps.sink, observe.Sent{Subject: c.subject, Handlers: sent.about, Since: sent.since, At: c.deps.now()})
		}
	}
	return changed, err
}

// send sends a patch and notes the version that the patch makes: it is handled next. Changed reports whether the patch
// has made a version; remaining is the part of the patch that was not accepted.
func (c *cycle) send(ctx context.Context, p *patch.Patch, guarded bool) (changed bool, remaining *patch.Patch, err error) {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := c.deps.sendPatch(ctx, c.served.resource, c.object, p, guarded, c.logger, c.subject)
	patched, _ := result.Object.(*object.Object)
	if patched != nil {
		// Even after an error: the earlier requests of the patch succeeded.
		c.memory.ledger.wrote(patched, c.deps.now().Add(c.deps.settings.ConsistencyTimeout))
	}
	switch {
	case err != nil:
		return false, result.Remaining, fmt.Errorf("patch %s: %w", c.object, err)
	case result.Gone:
		c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		return true, nil, nil
	case result.Remaining != nil:
		c.logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
		changed = true
	case c.finalizer == finalizerRemoved && patched != nil && patched.Deleting:
		c.memory.ledger.released(vanishes(patched))
		return true, nil, nil
	}
	if patched == nil {
		return changed, result.Remaining, nil
	}
	c.memory.warnPruned(c.logger, c.served.resource, p, patched)
	c.patched = patched
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
