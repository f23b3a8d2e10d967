package explain

import (
	"fmt"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// precedence of the phases of the handler that represents its object.
var precedence = []inspect.HandlerPhase{
	inspect.PhaseFailed, inspect.PhaseUnknown, inspect.PhaseRunning, inspect.PhaseRetrying, inspect.PhaseStopping, inspect.PhaseNext,
}

// decisive has the phase that explains each state. Further handlers may be in different phases: an object that is
// being retried may also have a handler that failed permanently.
var decisive = map[inspect.ObjectState]inspect.HandlerPhase{
	inspect.StateRunning:  inspect.PhaseRunning,
	inspect.StateRetrying: inspect.PhaseRetrying,
	inspect.StateWaiting:  inspect.PhaseNext,
}

// Active returns the handler that determines the object's state: the handler that failed, runs, or is tried next. It
// returns nil if the object is at rest.
func Active(o *inspect.Object) *inspect.HandlerState {
	var best *inspect.HandlerState
	rank := len(precedence)
	first, explained := decisive[o.State]
	for i := range o.Handlers {
		h := &o.Handlers[i]
		r := rankOf(h.State)
		if explained && h.State == first {
			r = -1
		}
		switch {
		case r > rank || r == len(precedence):
		case r < rank:
			best, rank = h, r
		case h.State == inspect.PhaseRetrying && sooner(h, best):
			best = h
		}
	}
	return best
}

// sooner reports whether the retry of a represents the object rather than the retry of b, because it is earlier. A
// parent and its sub-handler have the same time; then the sub-handler wins, because it has the error.
func sooner(a, b *inspect.HandlerState) bool {
	if a.Parent == b.ID && b.Error == nil {
		return true
	}
	return a.Next.Before(b.Next) && a.Parent != b.ID
}

func rankOf(p inspect.HandlerPhase) int {
	for i, x := range precedence {
		if x == p {
			return i
		}
	}
	return len(precedence)
}

// Try formats the number of a handler's attempt and the limit, such as "2/5" or "2". It is empty before the first attempt.
func Try(h *inspect.HandlerState) string {
	switch {
	case h.Attempt == 0:
		return ""
	case h.Limit == 0:
		return strconv.Itoa(h.Attempt)
	}
	return fmt.Sprintf("%d/%d", h.Attempt, h.Limit)
}
