package engine

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// needsCause reports whether it matters what happened to the object: to handlers, or to daemons that still
// run although the resource has no handlers for them anymore.
func (c *cycle) needsCause() bool {
	set := c.served.handlers
	return set.Has(handlers.Changing) || set.Has(handlers.Spawning) || c.memory.group.Load() != nil
}

// detectCause finds out what happened to the object since it was last handled.
func (c *cycle) detectCause(ctx context.Context) error {
	old, err := c.readLastHandled()
	if err != nil {
		return err
	}
	c.readFailures()
	essence := c.essenceOf(c.stored)
	changes := object.ComputeDiff(treeOrNil(old), essence)
	c.hasFinalizer = state.HasFinalizer(c.tree, c.deps.settings.Finalizer)
	evidence := handlers.Evidence{
		EventType:      c.event,
		Deleting:       state.Deleting(c.tree),
		Blocked:        c.hasFinalizer,
		Handled:        old != nil,
		EssenceChanged: len(changes) > 0,
		Initial:        c.memory.listed && !c.memory.resumed,
	}
	reason, initial := handlers.DetectReason(evidence)
	c.cause = &handlers.Cause{
		Resource: c.served.resource, Object: c.object, EventType: c.event, Tree: c.tree,
		Reason: reason, Initial: initial, Deleted: evidence.Deleting,
		Old: old, New: essence, Diff: changes, Excluded: c.memory.retired(), Context: ctx, Views: &handlers.Views{Memo: c.memory.memo},
	}
	c.requested = c.memory.retry.Load()
	c.planAgain()
	// An object that no handler matches is left alone: nothing is stored or logged.
	c.changing = c.served.handlers.Has(handlers.Changing) && c.served.handlers.Prematch(c.cause)
	if !c.changing {
		c.memory.takeRetry(c.requested) // there is nothing to retry
	}
	return nil
}
