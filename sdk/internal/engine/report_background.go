package engine

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// besides lists the daemons and timers, which do not belong to the cause: they come last.
func (r *report) besides(c *cycle) {
	var states []inspect.HandlerState
	group, retired := c.memory.group.Load(), c.memory.retired()
	for _, d := range c.handlers.Explain(handlers.Spawning, c.cause) {
		state := r.handler(d.Handler.ID, string(d.Handler.Family))
		_, over := retired[d.Handler.ID]
		stands(&state, d, taskOf(group, d.Handler.ID), c.object.Deleting, over)
		states = append(states, state)
	}
	r.handlers = append(slices.DeleteFunc(r.handlers, isBackground), states...)
}

// stands tells where a daemon or a timer stands: what it does, if there is a task of it, or
// what keeps it from running.
func stands(state *inspect.HandlerState, d handlers.Decision, task *daemons.Task, deleting, over bool) {
	before := state.State
	called, failed := state.Attempt > 0, state.Error != nil
	state.Why = nil
	if task != nil && task.Reason() == 0 {
		switch before {
		case inspect.PhaseRetrying, inspect.PhaseDone, inspect.PhaseFailed:
			return // it waits to be tried again, or sends the last that it has done
		}
		var waits bool
		state.State = runningPhase(d.Handler)
		if state.Next, waits = task.Due(); waits && !called && d.Handler.Family == handlers.Daemon {
			state.State = inspect.PhaseNext
		}
		return
	}
	state.Next = time.Time{}
	switch {
	case task != nil:
		state.State = inspect.PhaseStopping
	case !d.Selected:
		why := inspect.Mismatch{Kind: string(d.Why.Kind), Path: d.Why.Path, Is: d.Why.Is, Wants: d.Why.Wants, Absent: d.Why.Absent}
		state.Why, state.State = &why, inspect.PhaseFiltered
	case over && failed:
		state.State = inspect.PhaseFailed
	case over, deleting && called:
		state.State = inspect.PhaseDone
	case deleting:
		state.Why = &inspect.Mismatch{Kind: string(handlers.MismatchDeleted), Path: "metadata.deletionTimestamp", Is: "present", Wants: "absent"}
		state.State = inspect.PhaseFiltered
	default:
		state.State = inspect.PhaseNext
	}
}

func taskOf(group *daemons.Group, id string) *daemons.Task {
	if group == nil {
		return nil
	}
	tasks := group.Tasks()
	i := slices.IndexFunc(tasks, func(t *daemons.Task) bool { return t.Handler.ID == id })
	if i < 0 {
		return nil
	}
	return tasks[i]
}

// place is where a handler is in the list. Daemons and timers may run before anything else
// is told of the object.
func (r *report) place(h *handlers.Handler) int {
	i := r.index(h.ID)
	if i < 0 && h.Family.Group() == handlers.Spawning {
		r.handlers = append(r.handlers, inspect.HandlerState{ID: h.ID, Kind: string(h.Family)})
		i = len(r.handlers) - 1
	}
	return i
}

// stopping tells that daemons and timers were asked to end while nobody handles the object.
func (r *report) stopping(tasks []*daemons.Task) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, task := range tasks {
		at := r.place(task.Handler)
		r.handlers[at].State = inspect.PhaseStopping
	}
	r.publish()
}

// ended tells that a daemon or a timer has ended as it was asked to. Unless its object is
// being deleted, it may be started again.
func (r *report) ended(group *daemons.Group, task *daemons.Task) {
	if r == nil || task.Reason().Has(daemons.ResourceDeleted) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if taskOf(group, task.Handler.ID) != nil {
		return // it was started already
	}
	at := r.place(task.Handler)
	s := &r.handlers[at]
	s.State, s.Next = inspect.PhaseNext, time.Time{}
	r.publish()
}

// accompanies tells handlers that the object is, or was, of interest to whatever has happened
// to it.
func accompanies(h inspect.HandlerState) bool {
	return !ofCause(h) && h.State != inspect.PhaseFiltered
}

// besidesCause tells those of them that are not listed with the cause.
func besidesCause(h inspect.HandlerState) bool { return isBackground(h) || isIndexing(h) }

func isIndexing(h inspect.HandlerState) bool {
	return handlers.Family(h.Kind).Group() == handlers.Indexing
}

func isBackground(h inspect.HandlerState) bool {
	return handlers.Family(h.Kind).Group() == handlers.Spawning
}

// runningPhase is that of a handler that is called now. Those in the background do not make
// the object a busy one.
func runningPhase(h *handlers.Handler) inspect.HandlerPhase {
	switch h.Family {
	case handlers.Daemon:
		return inspect.PhaseAlive
	case handlers.Timer:
		return inspect.PhaseTicking
	default:
		return inspect.PhaseRunning
	}
}

// nextTick is when a timer ticks again; zero if that depends on the object.
func nextTick(h *handlers.Handler, began time.Time, took time.Duration) time.Time {
	switch {
	case h.Interval == nil:
		return time.Time{}
	case h.Sharp:
		return began.Add(took + *h.Interval - took%*h.Interval)
	default:
		return began.Add(took + *h.Interval)
	}
}
