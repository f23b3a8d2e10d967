package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// notePause reports whether the object's own annotation pauses its handling, and logs when that begins and
// ends. An object that is being deleted is handled nevertheless: the deletion would not end otherwise.
func (c *cycle) notePause() bool {
	reason, paused := state.Paused(c.tree)
	paused = paused && c.event != watch.Deleted && !c.object.Deleting
	before := c.memory.paused.Swap(paused)
	switch {
	case paused && !before:
		c.unpostedSubject().Logger.Info("Handling of the object is paused by its annotation "+state.PausedAnnotation+".",
			observe.EventKey, observe.LogObjectPaused, "reason", reason)
	case !paused && before:
		c.unpostedSubject().Logger.Info("Handling of the object is resumed.", observe.EventKey, observe.LogObjectResumed)
	}
	if paused {
		c.tellPlan(observe.Planned{Paused: true, Reason: reason})
	}
	return paused
}

// leaveAlone takes the steps of a cycle of a paused object: its daemons and timers stop, and nothing else
// happens. What it misses is handled when the annotation is removed.
func (r *daemonRunner) leaveAlone(c *cycle) {
	if group := c.memory.group.Load(); group != nil {
		group.Update(c.object, false)
		c.daemonDelays = group.Stop(daemons.OperatorPausing)
		r.detached.tellStopping(c.memory.identity, group)
	}
	c.memory.takeRetry(c.memory.retry.Load()) // nothing is retried
}
