package observe

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// A deletion is stuck if it takes longer than stuckAfter, or if the next retry of its handler is later than soon.
const (
	stuckAfter = 5 * time.Minute
	soon       = time.Minute
)

// state returns the first state that applies, in the order in which package inspect declares the states. If no other state
// applies to an unfinished object, it is running.
func (o *shown) state(now time.Time) inspect.ObjectState {
	unfinished := o.Cause != nil && o.Cause.Done.IsZero()
	switch {
	case o.isStuck(now):
		return inspect.StateStuck
	case o.has(inspect.PhaseFailed):
		return inspect.StateFailed
	case o.has(inspect.PhaseRunning):
		return inspect.StateRunning
	case o.Paused != nil:
		return inspect.StatePaused
	case o.Unanswered != nil:
		return inspect.StateWaiting
	case unfinished && o.has(inspect.PhaseRetrying), !o.isHeld() && (o.Failing != nil || slices.ContainsFunc(o.Handlers, isFailing)):
		return inspect.StateRetrying
	case o.isHeld():
		return inspect.StateDeleting
	case unfinished, o.deleting.IsZero() && slices.ContainsFunc(o.Handlers, awaitsPass):
		return inspect.StateRunning
	case o.Cause == nil && !slices.ContainsFunc(o.Handlers, isInterested):
		return inspect.StateIgnored
	default:
		return inspect.StateSettled
	}
}

func (o *shown) has(phase inspect.HandlerPhase) bool {
	return slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool { return h.State == phase })
}

// isFailing reports whether a daemon, a timer or a reconcile handler failed or waits, and will be called again. The object is then
// unsettled, although its cause is handled. A daemon that returned a temporary error does not count as failing.
func isFailing(h inspect.HandlerState) bool {
	group := groupOf(h)
	if group != handlers.Spawning && group != handlers.Reconciling {
		return false
	}
	if h.State == inspect.PhaseRetrying {
		return true
	}
	if h.Attempt < 2 || !h.Next.IsZero() || len(h.Attempts) == 0 {
		return false
	}
	last := h.Attempts[len(h.Attempts)-1].Error
	switch h.State {
	case inspect.PhaseTicking:
		return last != nil
	case inspect.PhaseAlive:
		return last != nil && last.Kind != inspect.ErrorTemporary
	}
	return false
}

// awaitsPass reports whether a reconcile handler has not been called yet. Its cause is handled without it, and its first pass
// waits until the operator has listed the children.
func awaitsPass(h inspect.HandlerState) bool {
	return groupOf(h) == handlers.Reconciling && h.State == inspect.PhaseNext
}

// isHeld reports whether the object is being deleted and waits for the operator.
func (o *shown) isHeld() bool { return !o.deleting.IsZero() && o.Finalizer }

// isStuck reports whether the deletion waits for the operator and will not end soon on its own. An object whose delete
// handler failed permanently has the state failed instead.
func (o *shown) isStuck(now time.Time) bool {
	if !o.isHeld() || o.isKept() {
		return false
	}
	// Only delete handlers count here. Handlers of other causes have no next attempt, and daemons are asked to stop.
	isFar := func(h inspect.HandlerState) bool {
		return groupOf(h) == handlers.Changing && h.State == inspect.PhaseRetrying && h.Next.Sub(now) > soon
	}
	denied := o.Failing != nil && o.Failing.DeniedBy != ""
	return denied || now.Sub(o.deleting) >= stuckAfter || slices.ContainsFunc(o.Handlers, isFar)
}

// isKept reports whether the deletion was handled, and a delete handler failed permanently.
func (o *shown) isKept() bool {
	cause := o.Cause
	return cause != nil && cause.Reason == inspect.ReasonDelete && !cause.Done.IsZero() && o.has(inspect.PhaseFailed)
}

// noteDeletion records when the object was first seen as being deleted. It returns true the first time. The watch stream
// delivers the deletion before the worker handles it, because the worker may be busy with a handler of another cause.
func (o *shown) noteDeletion(now time.Time) bool {
	if !o.deleting.IsZero() {
		return false
	}
	o.deleting = now
	return true
}

// isInterested reports whether a handler applies to the object regardless of the cause.
func isInterested(h inspect.HandlerState) bool {
	return groupOf(h) != handlers.Changing && h.State != inspect.PhaseFiltered
}
