package engine

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// watched tells the decisions about the handlers of an event, ahead of their calls.
func (r *report) watched(c *cycle, cause *handlers.Cause) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range c.handlers.Explain(handlers.Watching, cause) {
		state := r.handler(d.Handler.ID, string(d.Handler.Family))
		explain(&state, d)
		if i := r.index(state.ID); i >= 0 {
			r.handlers[i] = state
		} else {
			r.handlers = append(r.handlers, state)
		}
	}
}

// observed tells that all events of an object were observed that no other handlers are for.
func (r *report) observed(c *cycle) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.object.ResourceVersion = c.object.ResourceVersion
	r.publish()
}

// decide lists all handlers with the decision about each: those called come first.
func (r *report) decide(c *cycle) {
	var called, others []inspect.HandlerState
	decisions := c.handlers.Explain(handlers.Changing, c.cause)
	decisions = append(decisions, c.handlers.Explain(handlers.Watching, c.cause)...)
	for _, d := range decisions {
		state := r.handler(d.Handler.ID, string(d.Handler.Family))
		explain(&state, d)
		if !d.Selected || d.Handler.Family.Group() == handlers.Watching {
			others = append(others, state)
			continue
		}
		called = append(called, state)
		called = append(called, r.subsOf(state.ID)...)
	}
	// Daemons and timers do not belong to the cause, nor do indexing functions: see besides.
	r.handlers = slices.Concat(called, others, slices.DeleteFunc(r.handlers, func(h inspect.HandlerState) bool { return !besidesCause(h) }))
}

// explain puts the decision about a handler into its state.
func explain(state *inspect.HandlerState, d handlers.Decision) {
	state.Limit, state.Why = 0, nil
	if d.Handler.Retries != nil {
		state.Limit = *d.Handler.Retries
	}
	if !d.Selected {
		why := inspect.Mismatch{Kind: string(d.Why.Kind), Path: d.Why.Path, Is: d.Why.Is, Wants: d.Why.Wants, Absent: d.Why.Absent}
		state.Why, state.State = &why, inspect.PhaseFiltered
		if d.Why.Kind == "reason" {
			state.State = inspect.PhaseOtherCause
		}
		return
	}
	switch state.State {
	case inspect.PhaseDone, inspect.PhaseFailed, inspect.PhaseRetrying:
		// What it has come to so far remains to be shown.
	default:
		state.State = inspect.PhaseNext
	}
}
