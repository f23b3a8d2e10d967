package cycle

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// notePause reports whether the object's annotation pauses its handling, and logs the start and the end of the pause. A
// deleted object is never paused, because its finalizer must be removed.
func (c *cycle) notePause() bool {
	reason, paused := state.Paused(c.view.Tree)
	paused = paused && !c.deleted() && !c.object.Deleting
	before := c.memory.Flags.Paused.Swap(paused)
	switch {
	case paused && !before:
		c.unpostedSubject().Logger.Info("Handling of the object is paused by its annotation "+state.PausedAnnotation+".",
			observe.EventKey, observe.LogObjectPaused, "reason", reason)
	case !paused && before:
		// Another operator may have handled the object during the pause.
		c.memory.Life.States = memory.LastHandledWatch{}
		c.memory.Outbox.DropStarts()
		c.unpostedSubject().Logger.Info("Handling of the object is resumed.", observe.EventKey, observe.LogObjectResumed)
	}
	if paused {
		c.report(observe.Planned{Paused: true, Reason: reason})
	}
	return paused
}

// leaveAlone stops the daemons and timers of a paused object. The changes of the object are handled when the annotation
// is removed. It returns the times until stopping daemons must be checked.
func (p *Processor) leaveAlone(c *cycle) (stopping []time.Duration) {
	if group := c.memory.Group.Load(); group != nil {
		group.Update(c.object, 0)
		stopping = group.Stop(daemons.OperatorPausing)
		p.detached.EmitStopping(c.memory.Identity, group)
	}
	c.memory.TakeRetry(c.memory.Retry.Load()) // handlers of a paused object are not retried
	return stopping
}
