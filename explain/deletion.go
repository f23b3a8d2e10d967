package explain

import (
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// stuck names everything that keeps the finalizer on the object.
func stuck(o *inspect.Object, now time.Time, held string) string {
	var reasons []string
	for i := range o.Handlers {
		h := &o.Handlers[i]
		switch h.State {
		case inspect.PhaseFailed:
			reasons = append(reasons, failure(h))
		case inspect.PhaseUnknown:
			reasons = append(reasons, h.ID+" is not a handler of this code")
		case inspect.PhaseStopping:
			reasons = append(reasons, h.ID+" does not stop")
		case inspect.PhaseRunning:
			reasons = append(reasons, h.ID+" is still running")
		case inspect.PhaseRetrying:
			reasons = append(reasons, attempt(h)+", "+Next(h, now, held).Clause())
		}
	}
	if len(o.Awaits) > 0 {
		reasons = append(reasons, "the deletion of "+strings.Join(o.Awaits, ", ")+" has not ended")
	}
	if len(reasons) == 0 {
		return "Deletion waits for our finalizer, and no handler is left that would lead to its removal."
	}
	return "Deletion waits for our finalizer: " + strings.Join(reasons, "; ") + "."
}

func deleting(o *inspect.Object, now time.Time, held string) string {
	h := Active(o)
	if h != nil && h.State == inspect.PhaseRetrying {
		return "Deletion: " + attempt(h) + ". " + Next(h, now, held).Sentence()
	}
	var doing []string
	for i := range o.Handlers {
		switch x := &o.Handlers[i]; x.State {
		case inspect.PhaseRunning:
			doing = append(doing, x.ID+" is running")
		case inspect.PhaseNext:
			doing = append(doing, x.ID+" is next")
		case inspect.PhaseStopping:
			doing = append(doing, x.ID+" is stopping")
		}
	}
	if len(o.Awaits) > 0 {
		doing = append(doing, "deleting "+strings.Join(o.Awaits, ", "))
	}
	switch {
	case len(doing) == 0 && o.Finalizer:
		return "Deletion: our finalizer is being removed."
	case len(doing) == 0:
		return "Deletion: nothing of ours blocks it; it waits for others."
	}
	return "Deletion: " + strings.Join(doing, ", ") + "; then our finalizer goes."
}
