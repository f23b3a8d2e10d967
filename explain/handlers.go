package explain

import "github.com/kopf-dev/kopf/sdk/inspect"

// IsNotCalled reports whether a handler is not called for the present cause.
func IsNotCalled(h *inspect.HandlerState) bool {
	switch h.State {
	case inspect.PhaseFiltered, inspect.PhaseOtherCause, inspect.PhaseSuperseded:
		return true
	}
	return false
}

// IsBackground reports whether a handler runs independently of causes.
func IsBackground(h *inspect.HandlerState) bool {
	return h.Kind == inspect.KindDaemon || h.Kind == inspect.KindTimer
}

// isRunning reports whether a call of a handler is in progress. Timers count as running between their short calls
// too.
func isRunning(h *inspect.HandlerState) bool {
	switch h.State {
	case inspect.PhaseRunning, inspect.PhaseAlive, inspect.PhaseStopping:
		return true
	}
	return false
}

// Runs returns the number of calls of a handler, including running calls, because a call of a
// daemon may last as long as its object.
func (s *State) Runs(h *inspect.Handler) int { return h.Stats.Runs + s.running[h.ID] }

// CalledFirst returns the handlers of an object: first the called handlers, then all others,
// both in the order of registration.
func CalledFirst(o *inspect.Object) []*inspect.HandlerState {
	handlers := make([]*inspect.HandlerState, 0, len(o.Handlers))
	for _, out := range []bool{false, true} {
		for i := range o.Handlers {
			if h := &o.Handlers[i]; IsNotCalled(h) == out {
				handlers = append(handlers, h)
			}
		}
	}
	return handlers
}
