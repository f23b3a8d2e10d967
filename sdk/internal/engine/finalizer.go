package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// addFinalizer adds the finalizer if handlers require it. They are called when the object has it.
func (c *cycle) addFinalizer() {
	if c.event != watch.Deleted && !c.cause.Deleted && !c.hasFinalizer && c.served.handlers.RequiresFinalizer(c.cause) {
		c.logger.Debug("Adding the finalizer, thus preventing the actual deletion.", observe.EventKey, observe.LogFinalizerAdded)
		state.AddFinalizer(c.writes.own, c.deps.settings.Finalizer)
		c.finalizer = finalizerAdded
	}
	c.memory.hasFinalizer.Store(c.hasFinalizer)
}

// removeUnneededFinalizer removes the finalizer if no handler requires it anymore and no daemon is
// running.
func (c *cycle) removeUnneededFinalizer() {
	if c.event == watch.Deleted || !c.hasFinalizer || c.finalizer != finalizerUnchanged || len(c.daemonDelays) > 0 ||
		c.served.handlers.RequiresFinalizer(c.cause) {
		return
	}
	c.logger.Debug("Removing the finalizer, as there are no handlers requiring it.", observe.EventKey, observe.LogFinalizerRemoved)
	c.removeFinalizer()
}

// removeFinalizerAfterDeletion removes the finalizer of an object that is being deleted, when all
// handlers of the deletion are done and no daemon is running.
func (c *cycle) removeFinalizerAfterDeletion() {
	if c.event == watch.Deleted || !c.cause.Deleted || !c.hasFinalizer {
		return
	}
	if c.isKept() {
		return
	}
	c.memory.deletionHandled = true
	if len(c.daemonDelays) == 0 {
		c.logger.Debug("Removing the finalizer, thus allowing the actual deletion.", observe.EventKey, observe.LogFinalizerRemoved)
		c.removeFinalizer()
	}
}

func (c *cycle) removeFinalizer() {
	state.RemoveFinalizer(c.writes.own, c.deps.settings.Finalizer)
	c.finalizer = finalizerRemoved
}
