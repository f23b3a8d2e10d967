package settlement

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// handlersOf returns an entry for each handler that is not done.
func handlersOf(o *inspect.Object, name string, now time.Time) []Unsettled {
	var list []Unsettled
	for i := range o.Handlers {
		h := &o.Handlers[i]
		var what string
		failure := h.Error
		switch h.State {
		case inspect.PhaseFailed:
			what = "failed permanently" + attempts(h)
		case inspect.PhaseRetrying:
			what = "will be retried" + in(h.Next, now) + attempts(h)
		case inspect.PhaseRunning:
			what = "is running" + attempts(h)
		case inspect.PhaseNext:
			what = "has not been called yet"
		case inspect.PhaseAlive, inspect.PhaseTicking:
			failure = lastError(h)
			if h.Attempt < 2 || failure == nil || h.State == inspect.PhaseAlive && failure.Kind == inspect.ErrorTemporary {
				continue
			}
			what = "is called again after a failure" + attempts(h)
		default:
			continue
		}
		if failure != nil {
			what += ": " + strings.ReplaceAll(failure.Message, "\n", " ")
		}
		list = append(list, Unsettled{Object: name, Handler: h.ID, What: what})
	}
	if len(list) == 0 {
		list = append(list, Unsettled{Object: name, What: string(o.State)})
	}
	return list
}

// lastError returns the error of the last attempt that has ended; nil if it had none.
func lastError(h *inspect.HandlerState) *inspect.HandlerError {
	if len(h.Attempts) == 0 {
		return nil
	}
	return h.Attempts[len(h.Attempts)-1].Error
}

func attempts(h *inspect.HandlerState) string {
	switch {
	case h.Attempt == 0:
		return ""
	case h.Limit == 0:
		return fmt.Sprintf(" (attempt %d)", h.Attempt)
	}
	return fmt.Sprintf(" (attempt %d of %d)", h.Attempt, h.Limit)
}

func in(next, now time.Time) string {
	if next.IsZero() || !next.After(now) {
		return ""
	}
	return fmt.Sprintf(" in %s", next.Sub(now).Round(time.Second))
}
