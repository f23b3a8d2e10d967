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

// apply sends what the cycle has collected: the changes by handlers and the operator's own. It
// reports whether that changed the object, so that a new event arrives.
func (c *cycle) apply(ctx context.Context) (changed bool, err error) {
	if c.batch.Ended() {
		if !c.patch.Empty() || !c.ownPatch.Empty() {
			c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		}
		c.gone = true
		return false, nil
	}
	c.setBrokenAside()
	if !c.patch.Empty() || !c.ownPatch.Empty() {
		if err := c.progress.Touch(c.stored, "", c.ownPatch); err != nil {
			return false, err
		}
	}
	c.guarded = c.event == watch.Listed || c.deps.now().Sub(c.began) > guardAfter
	return c.sendCollected(ctx)
}

// sendCollected sends the changes by handlers together with the operator's own. What the API server does
// not accept is held for the next cycles.
func (c *cycle) sendCollected(ctx context.Context) (changed bool, err error) {
	handlers := c.patch.Take() // abandoned handlers may still change the old one
	byHandlers := !handlers.Empty()
	changed, left, err := c.transmit(ctx, unrecorded{
		handlers: handlers, own: c.ownPatch, outcomes: c.outcomes, finished: c.finished, since: c.deps.now(),
	})
	c.hold(left, err)
	if err == nil {
		c.noteLoop(byHandlers, changed)
	}
	return changed, err
}

// transmit sends the changes by handlers together with the operator's own, and returns what is left of
// both. If the API server rejects the former, the operator's own changes are sent alone, so that no
// outcome is lost.
func (c *cycle) transmit(ctx context.Context, u unrecorded) (changed bool, left unrecorded, err error) {
	left = u
	handlers, own := u.handlers, u.own
	if c.patch = c.merged(handlers, own); c.patch.Empty() {
		return false, unrecorded{}, nil
	}
	changed, remaining, err := c.send(ctx, c.patch)
	if err == nil && remaining == nil {
		left.handlers, left.own = nil, nil
		return changed, left, nil
	}
	left.handlers, left.own = handlers.Unsent(remaining), own.UnsentFields(remaining)
	if isHopeless(err, left.rejections) {
		left.handlers.DropFns()
	}
	if isRejected(err) && !isTransform(err) && c.rejectsHandlers(left) {
		return c.transmitOwn(ctx, left, own.Fns(), err)
	}
	return changed, left, err
}

// rejectsHandlers reports whether a rejected request had changes by handlers. If the status is a
// subresource, they may be in a request that was to follow.
func (c *cycle) rejectsHandlers(left unrecorded) bool {
	_, ownStatus := left.own.Lookup(object.Path{"status"})
	body := left.own.Fields() > 1 || left.own.Fields() == 1 && !ownStatus
	if !c.served.resource.HasSubresource("status") || !body {
		return left.handlers.Fields() > 0
	}
	_, status := left.handlers.Lookup(object.Path{"status"})
	return left.handlers.Fields() > 1 || left.handlers.Fields() == 1 && !status
}

// merged returns the changes by handlers together with the operator's own, as far as they fit.
func (c *cycle) merged(handlers, own *patch.Patch) *patch.Patch {
	if handlers.Empty() {
		c.memory.annotations.fit(c.logger, c.tree, own, own)
		return own
	}
	whole := patch.NewPatch()
	whole.Append(handlers)
	whole.Append(own)
	c.memory.annotations.fit(c.logger, c.tree, whole, own)
	return whole
}

// transmitOwn sends what remains of a patch that the API server rejected: the operator's own changes
// and the transformations, which are requests of their own. If these are accepted, it is the handlers'
// changes that are rejected. They are discarded, or the handlers would be called again and again with
// the same result.
func (c *cycle) transmitOwn(ctx context.Context, left unrecorded, ownFns []patch.Fn, rejection error) (changed bool, _ unrecorded, err error) {
	own, fns := patch.NewPatch(), left.handlers.TakeFns()
	own.Append(fns)
	own.Append(left.own)
	for _, fn := range ownFns {
		own.AddFn(fn)
	}
	c.memory.annotations.fit(c.logger, c.tree, own, left.own)
	if c.patch = own; !own.Empty() {
		var remaining *patch.Patch
		changed, remaining, err = c.send(ctx, own)
		left.own = left.own.UnsentFields(remaining)
		if fns = fns.Unsent(remaining); isHopeless(err, left.rejections) {
			fns.DropFns()
		}
	}
	if !left.own.Empty() {
		left.handlers.Restore(fns)
		return changed, left, err // the server rejects the operator's own changes too
	}
	if !isFinal(rejection, left) {
		left.handlers.Restore(fns)
		return changed, left, rejection
	}
	c.logger.With(observe.ErrorAttrs(rejection)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
	left.handlers = fns
	return changed, left, err
}

// isFinal reports whether the API server is going to reject the changes by handlers again. It does if they
// are for one version of the object only.
func isFinal(rejection error, left unrecorded) bool {
	return pinsVersion(patch.Call{Payload: left.handlers.Tree()}) || isLasting(rejection, left.rejections)
}

// send sends a patch and notes the version that the patch makes: it is handled next. Changed reports whether the patch
// has made a version; remaining is the part of the patch that was not accepted.
func (c *cycle) send(ctx context.Context, p *patch.Patch) (changed bool, remaining *patch.Patch, err error) {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := c.deps.sendPatch(ctx, c.served.resource, c.object, p, c.guarded, c.logger, c.subject)
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

// hold keeps what is left of a patch after an error, or because the object has changed meanwhile.
func (c *cycle) hold(left unrecorded, err error) {
	if left.finished {
		c.memory.resumed = true // even if there is an error
	}
	if left.empty() {
		return
	}
	again := left.failed
	left.failed = left.failed || err != nil
	if isRejected(err) && left.own.Empty() {
		left.rejections++
	}
	kept := left // only what is kept is allocated
	c.memory.unrecorded = &kept
	if err != nil && !isFenced(err) {
		observe.Tell(c.deps.sink, observe.Sent{
			Subject: c.unpostedSubject(), Handlers: left.outcomes, Since: left.since, At: c.deps.now(), Again: again, Err: err,
		})
	}
}
