package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// patchTimeout limits the last patches of an operator that is stopping, after its time to exit is
// over. The queue waits slightly longer, so that they end before the operator does.
const patchTimeout = queue.AbandonAfter - 100*time.Millisecond

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
	return c.sendCollected(ctx)
}

// sendCollected sends the changes by handlers together with the operator's own. If the API server
// rejects the former, the operator's own changes are sent alone, so that no outcome is lost.
func (c *cycle) sendCollected(ctx context.Context) (changed bool, err error) {
	requested, transforms := !c.patch.Empty(), c.patch.Fns() // by handlers
	if c.mergePatches(); c.patch.Empty() {
		return false, nil
	}
	changed, err = c.send(ctx, c.patch)
	if requested && isRejected(err) {
		changed, err = c.sendOwnPatch(ctx, transforms, err)
	}
	switch {
	case err != nil && !isHopeless(err): // the next cycle tries the same transformations
	case c.postponed && err == nil:
		// Only those of handlers, which are not called again for them. The finalizer is decided on
		// again.
		c.memory.transforms = transforms
	default:
		c.memory.transforms = nil
	}
	return changed, err
}

// mergePatches adds the operator's own changes to those of handlers, as far as they fit.
func (c *cycle) mergePatches() {
	if c.patch.Empty() {
		c.patch = c.ownPatch
	} else {
		c.patch = c.patch.Take() // abandoned handlers may still change the old one
		c.patch.Append(c.ownPatch)
	}
	c.memory.annotations.fit(c.logger, c.tree, c.patch, c.ownPatch)
}

// sendOwnPatch sends what remains of a patch that the API server rejected: the operator's own changes
// and the transformations, which are requests of their own. Without them, the handlers would be
// called again and again with the same result.
func (c *cycle) sendOwnPatch(ctx context.Context, transforms []patch.Fn, rejection error) (changed bool, err error) {
	c.logger.With(observe.ErrorAttrs(rejection)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
	for _, transform := range transforms {
		c.ownPatch.AddFn(transform)
	}
	c.memory.annotations.fit(c.logger, c.tree, c.ownPatch, c.ownPatch)
	if c.patch = c.ownPatch; c.patch.Empty() {
		return false, nil
	}
	return c.send(ctx, c.patch)
}

// send sends a patch, and remembers the version that it makes, so that no handler is selected by an
// older one. It reports whether there will be an event of the patch.
func (c *cycle) send(ctx context.Context, p *patch.Patch) (changed bool, err error) {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := c.deps.sendPatch(ctx, c.served.resource, c.object, p, c.logger)
	patched, _ := result.Object.(*object.Object)
	if patched != nil {
		// Even after an error: the earlier requests of the patch succeeded.
		c.memory.ownVersion, c.memory.ownDeadline = patched.ResourceVersion, c.deps.now().Add(c.deps.settings.ConsistencyTimeout)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("patch %s: %w", c.object, err)
	case result.Gone:
		c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		return true, nil
	case result.Remaining != nil:
		c.logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
		changed, c.postponed = true, true
	case c.finalizer == finalizerRemoved && patched != nil && patched.Deleting:
		// The object is gone, unless others hold it: there may be no event of this version.
		c.memory.released, c.memory.ownVersion = true, ""
		return true, nil
	}
	if patched == nil {
		return changed, nil
	}
	c.memory.warnPruned(c.logger, c.served.resource, p, patched)
	c.patched = patched
	return changed || patched.ResourceVersion != c.object.ResourceVersion, nil
}
