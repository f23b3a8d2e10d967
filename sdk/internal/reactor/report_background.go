package reactor

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
)

// besides lists the daemons and timers, which do not belong to the cause: they come last.
func (r *report) besides(c *cycle) {
	var states []inspect.HandlerState
	group := c.memory.group.Load()
	for _, d := range c.handlers.Explain(handler.Spawning, c.cause) {
		state := r.handler(d.Handler.ID, string(d.Handler.Family))
		state.Why = nil
		task := taskOf(group, d.Handler.ID)
		switch {
		case task != nil && task.Reason() != 0:
			state.State = inspect.PhaseStopping
		case task != nil && state.State != inspect.PhaseRetrying:
			state.State = runningPhase(d.Handler)
		case task != nil:
		case !d.Selected:
			why := inspect.Mismatch{Kind: string(d.Why.Kind), Path: d.Why.Path, Is: d.Why.Is, Wants: d.Why.Wants, Absent: d.Why.Absent}
			state.Why, state.State = &why, inspect.PhaseFiltered
		case state.State != inspect.PhaseDone && state.State != inspect.PhaseFailed:
			state.State = inspect.PhaseNext
		}
		states = append(states, state)
	}
	r.handlers = append(slices.DeleteFunc(r.handlers, isBackground), states...)
}

func taskOf(group *background.Group, id string) *background.Task {
	if group == nil {
		return nil
	}
	tasks := group.Tasks()
	i := slices.IndexFunc(tasks, func(t *background.Task) bool { return t.Handler.ID == id })
	if i < 0 {
		return nil
	}
	return tasks[i]
}

func isBackground(h inspect.HandlerState) bool {
	return handler.Family(h.Kind).Group() == handler.Spawning
}

// runningPhase is that of a handler that is called now. Those in the background do not make
// the object a busy one.
func runningPhase(h *handler.Handler) inspect.HandlerPhase {
	switch h.Family {
	case handler.Daemon:
		return inspect.PhaseAlive
	case handler.Timer:
		return inspect.PhaseTicking
	default:
		return inspect.PhaseRunning
	}
}

// nextTick is when a timer ticks again; zero if that depends on the object.
func nextTick(h *handler.Handler, began time.Time, took time.Duration) time.Time {
	switch {
	case h.Interval == nil:
		return time.Time{}
	case h.Sharp:
		return began.Add(took + *h.Interval - took%*h.Interval)
	default:
		return began.Add(took + *h.Interval)
	}
}
