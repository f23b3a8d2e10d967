// Package verdict makes sentences of what the inspector publishes as data: what happens
// to an object, why, and what comes next and when.
//
// Everything here is a pure function of its arguments. Sentences that have a countdown
// end with it, so that its width moves nothing else.
package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// Of is the verdict on an object at a moment. Held says why nothing that is scheduled
// will happen ("paused", "crashed", "no cluster"); it is empty if nothing is held.
func Of(o *inspect.Object, now time.Time, held string) string {
	switch o.State {
	case inspect.StateFailed:
		return failed(o)
	case inspect.StateStuck:
		return stuck(o, now, held)
	case inspect.StateDeleting:
		return deleting(o, now, held)
	case inspect.StateRunning:
		return running(o, now)
	case inspect.StateRetrying:
		return retrying(o, now, held)
	case inspect.StateWaiting:
		return waiting(o, now)
	case inspect.StatePaused:
		return "The operator is paused: what changes is handled when it resumes."
	case inspect.StateIgnored:
		return ignored(o)
	case inspect.StateSettled:
		return settled(o, now)
	}
	return "The operator calls this " + string(o.State) + "."
}

// failed needs no hint of what is done about it: only a change of the object helps.
func failed(o *inspect.Object) string {
	h := Active(o)
	if h == nil {
		return "A handler has failed for good. It runs again when the object changes."
	}
	if h.Kind == "index" {
		return Failure(h) + ". The object is in that index no more, whatever becomes of it."
	}
	return Failure(h) + ". It runs again when the object changes."
}

// indexed tells of an object that is there for indices only; empty if it is not.
func indexed(o *inspect.Object, now time.Time) string {
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.Kind == "index" && h.State == inspect.PhaseRetrying {
			again := "with the next version"
			if h.Next.After(now) {
				again = words.In(h.Next.Sub(now))
			}
			return "Out of an index: " + h.ID + " failed, and is tried again " + again + "."
		}
	}
	names := ids(o, func(h *inspect.HandlerState) bool { return h.Kind == "index" && h.State == inspect.PhaseDone })
	if len(names) == 0 {
		return ""
	}
	return "Only indexed: " + list(names) + pick(len(names), " looks", " look") + " at each version; nothing is stored on this object."
}

// Failure tells how a handler has failed for good, without the period.
func Failure(h *inspect.HandlerState) string {
	if h.Error == nil {
		return h.ID + " failed for good"
	}
	message := sentence(h.Error.Message)
	switch h.Error.Kind {
	case "retries":
		return fmt.Sprintf("%s gave up after %s: %s", h.ID, words.Count(max(1, h.Attempt), "attempt"), message)
	case "timeout":
		return fmt.Sprintf("%s ran out of time after %s: %s", h.ID, words.Count(max(1, h.Attempt), "attempt"), message)
	case "panic":
		return fmt.Sprintf("%s panicked: %s", h.ID, message)
	}
	return fmt.Sprintf("%s failed for good: %s", h.ID, message)
}

func retrying(o *inspect.Object, now time.Time, held string) string {
	h := Active(o)
	if h == nil {
		return "A handler will be tried again."
	}
	others := ids(o, func(x *inspect.HandlerState) bool {
		return x.State == inspect.PhaseRetrying && x.Parent == "" && x.ID != h.ID && x.ID != h.Parent && x.Parent != h.ID
	})
	also := ""
	if len(others) > 0 {
		also = " " + list(others) + pick(len(others), " is", " are") + " being retried, too."
	}
	lost := ids(o, func(x *inspect.HandlerState) bool { return x.State == inspect.PhaseFailed && x.Parent == "" })
	if len(lost) > 0 {
		also += " " + list(lost) + pick(len(lost), " has", " have") + " failed for good."
	}
	return attempt(h) + "." + also + " " + again(h, now, held)
}

// attempt tells of the last attempt, without the period.
func attempt(h *inspect.HandlerState) string {
	s := h.ID + " failed"
	if try := Try(h); try != "" {
		s += ", attempt " + strings.ReplaceAll(try, "/", " of ")
	}
	if h.Error != nil {
		s += ": " + sentence(h.Error.Message)
	}
	return s
}

func again(h *inspect.HandlerState, now time.Time, held string) string {
	if held != "" {
		return "Again when that is over (" + held + ")."
	}
	return "Again " + words.In(h.Next.Sub(now)) + "."
}

func running(o *inspect.Object, now time.Time) string {
	h := Active(o)
	if h == nil {
		return "A handler is running."
	}
	s := h.ID + " is running"
	if try := Try(h); try != "" {
		s += ", attempt " + strings.ReplaceAll(try, "/", " of ")
	}
	if why := Because(o.Cause); why != "" {
		s += ", because " + why
	}
	// Of later attempts only the end is known, and they have none yet.
	if h.Attempt <= 1 && !h.Started.IsZero() {
		s += ", since " + words.Ago(now.Sub(h.Started))
	}
	return s + "."
}

func waiting(o *inspect.Object, now time.Time) string {
	w := o.Waiting
	if w == nil {
		return "No decision yet: our own patch has not come back."
	}
	return fmt.Sprintf("No decision yet: our own patch v%s has not come back, the stream is at v%s. Decides at the latest %s.",
		w.Wrote, w.Seen, words.In(w.Deadline.Sub(now)))
}

func settled(o *inspect.Object, now time.Time) string {
	if o.Cause == nil {
		watchers := ids(o, func(h *inspect.HandlerState) bool { return h.Kind == "event" && h.Why == nil })
		if len(watchers) > 0 {
			return "Only watched: " + list(watchers) + pick(len(watchers), " gets", " get") + " every event; nothing is stored on this object."
		}
		if said := indexed(o, now); said != "" {
			return said
		}
		return "Nothing to do here."
	}
	if o.Cause.Done.IsZero() {
		return "All is handled; nothing has changed since."
	}
	return fmt.Sprintf("All handled %s (%s); nothing has changed since.", words.Back(now.Sub(o.Cause.Done)), o.Cause.Reason)
}
