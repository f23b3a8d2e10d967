package explain

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Note returns the most important fact about a handler on an object, in a few words: the next step, the duration, the
// reason of the failure, the ignored error, or the excluding filter. Held is [State.Held].
func Note(h *inspect.HandlerState, now time.Time, held string) string {
	if h.Slot {
		return Next(h, now, held).Note()
	}
	switch h.State {
	case inspect.PhaseRetrying, inspect.PhaseTicking:
		return Next(h, now, held).Note()
	case inspect.PhaseDone:
		if !h.Unrecorded.IsZero() {
			return "done, not recorded yet, " + For(now.Sub(h.Unrecorded))
		}
		if n := len(h.Attempts); n > 0 && h.Attempts[n-1].Error != nil {
			return "error ignored: " + h.Attempts[n-1].Error.Message
		}
		return Took(h.Took)
	case inspect.PhaseFailed:
		if h.Error != nil {
			return h.Error.Message
		}
	case inspect.PhaseUnknown:
		return "progress on the object, but no such handler; if renamed: kopf.ID"
	case inspect.PhaseRunning, inspect.PhaseAlive:
		if !h.Started.IsZero() {
			return For(now.Sub(h.Started))
		}
	case inspect.PhaseFiltered, inspect.PhaseOtherCause:
		return Mismatch(h.Why)
	}
	return ""
}
