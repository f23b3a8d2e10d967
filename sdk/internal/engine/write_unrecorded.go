package engine

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// writeUnrecorded writes what earlier cycles could not. It returns true if there is nothing left to
// write, and if that has made no newer version of the object. If the object is gone, there is
// nothing to write, but its handlers must not be called again.
func (c *cycle) writeUnrecorded(ctx context.Context) (ready bool, err error) {
	held := c.memory.unrecorded
	if held == nil {
		return true, nil
	}
	c.memory.unrecorded = nil
	if ended := c.batch.Ended(); ended || c.event == watch.Deleted {
		c.stored = c.memory.annotations.overlay(c.tree)
		return !ended, nil
	}
	c.guarded = true
	changed, left, err := c.transmit(ctx, *held)
	c.hold(left, err)
	c.patch, c.patched = patch.NewPatch(), nil
	if err != nil {
		return false, err
	}
	if c.memory.unrecorded == nil {
		c.recorded = held.finished
		if held.failed {
			observe.Tell(c.deps.sink, observe.Sent{Subject: c.subject, Handlers: held.outcomes, Since: held.since, At: c.deps.now()})
		}
	}
	c.stored = c.memory.unrecorded.overlay(c.memory.annotations.overlay(c.tree))
	return !changed, nil
}
