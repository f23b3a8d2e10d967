package model

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
func IsBackground(h *inspect.HandlerState) bool { return h.Kind == "daemon" || h.Kind == "timer" }

// CalledFirst returns the handlers of an object: those called, then the others, each in
// the order of registration.
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
