package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Verdict returns a sentence about the state of an object at a time, the reason, and the next
// step. Held is [State.Held]. A countdown is at the end, so that its width moves nothing.
func Verdict(o *inspect.Object, now time.Time, held string) string {
	if o.Failing != nil && (o.State == inspect.StateStuck || o.State == inspect.StateRetrying || o.State == inspect.StateDeleting) {
		return failing(o.Failing, now)
	}
	if o.Unanswered != nil {
		return unanswered(o.Unanswered, now)
	}
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
		return pausedObject(o)
	case inspect.StateIgnored:
		return ignored(o)
	case inspect.StateSettled:
		return settled(o, now, held)
	}
	return "The operator calls this " + string(o.State) + "."
}

// pausedBecause returns why the object is paused, without a period.
func pausedBecause(o *inspect.Object) string {
	why := "an annotation says so"
	if o.Paused != nil && o.Paused.Reason != "" {
		why = o.Paused.Reason
	}
	return "Paused: " + why
}

// failing returns the reason why the object cannot be handled now.
func failing(f *inspect.Failing, now time.Time) string {
	return "The object cannot be handled: " + sentence(f.String()) + ". Its changes are kept, and the operator tries again " + In(f.Next.Sub(now)) + "."
}

func pausedObject(o *inspect.Object) string {
	return pausedBecause(o) + ". What changes is handled when the annotation kopf.dev/paused is removed, but a deletion at once."
}

// failed names the failed handler with its error, and the event that makes the handler run again.
func failed(o *inspect.Object) string {
	h := Active(o)
	if h == nil {
		return "A handler has failed permanently. It runs again when it is retried."
	}
	if h.Kind != inspect.KindIndex && IsPaused(o) {
		return failure(h) + "." + stepsNote(h) + " " + pausedBecause(o) + "; nothing runs until the annotation kopf.dev/paused is removed."
	}
	return failure(h) + "." + stepsNote(h) + " " + runsAgain(o, h)
}

// runsAgain returns a sentence that names what makes a permanently failed handler run again. A change of the object does not
// run a failed create handler again: the object counts as handled, so the change is an update.
func runsAgain(o *inspect.Object, h *inspect.HandlerState) string {
	for h.Kind == inspect.KindSub {
		parent := o.Handler(h.Parent)
		if parent == nil {
			break
		}
		h = parent
	}
	switch h.Kind {
	case inspect.KindIndex:
		return "The object is no longer in that index, even if it changes."
	case inspect.KindDaemon, inspect.KindTimer:
		return "It starts again for this object only when it is retried, or the operator restarts."
	case inspect.KindUpdate:
		return "It runs again when the object changes, or it is retried."
	case inspect.KindField:
		return "It runs again when its field changes, or it is retried."
	case inspect.KindDelete:
		return "It runs again when it is retried. Until it succeeds, our finalizer keeps the object."
	case inspect.KindResume:
		return "It runs again when the operator restarts, or it is retried."
	}
	return "It runs again only when it is retried, or the object is handled from scratch."
}

// indexed names the indexing functions of an object that has no other handlers. It is empty if
// the object is in none.
func indexed(o *inspect.Object, now time.Time, held string) string {
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.Kind == inspect.KindIndex && h.State == inspect.PhaseRetrying {
			return "Not in an index: " + h.ID + " failed; " + Next(h, now, held).Clause() + "."
		}
	}
	names := ids(o, func(h *inspect.HandlerState) bool { return h.Kind == inspect.KindIndex && h.State == inspect.PhaseDone })
	if len(names) == 0 {
		return ""
	}
	return "Only indexed: " + list(names) + pick(len(names), " looks", " look") + " at each version; nothing is stored on this object."
}

// failure describes the permanent failure of a handler, without the period.
func failure(h *inspect.HandlerState) string {
	if h.Error == nil {
		return h.ID + " failed permanently"
	}
	message := sentence(h.Error.Message)
	switch h.Error.Kind {
	case inspect.ErrorRetries:
		return fmt.Sprintf("%s gave up after %s: %s", h.ID, Count(max(1, h.Attempt), "attempt"), message)
	case inspect.ErrorTimeout:
		return fmt.Sprintf("%s ran out of time after %s: %s", h.ID, Count(max(1, h.Attempt), "attempt"), message)
	case inspect.ErrorPanic:
		return fmt.Sprintf("%s panicked: %s", h.ID, strings.TrimPrefix(message, "panic: "))
	}
	return fmt.Sprintf("%s failed permanently: %s", h.ID, message)
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
		also += " " + list(lost) + pick(len(lost), " has", " have") + " failed permanently."
	}
	return attempt(h) + "." + also + stepsNote(h) + " " + Next(h, now, held).Sentence()
}

// attempt describes the end of the last attempt, without the period.
func attempt(h *inspect.HandlerState) string {
	s := h.ID + " failed"
	if Waits(h) {
		s = h.ID + " waits"
	}
	if try := Try(h); try != "" {
		s += ", attempt " + strings.ReplaceAll(try, "/", " of ")
	}
	if h.Error != nil {
		s += ": " + sentence(h.Error.Message)
	}
	return s
}

func running(o *inspect.Object, now time.Time) string {
	h := Active(o)
	if h == nil {
		return "A handler is running."
	}
	if h.Slot {
		return h.ID + " " + awaitsSlot + "."
	}
	s := h.ID + " is running"
	if try := Try(h); try != "" {
		s += ", attempt " + strings.ReplaceAll(try, "/", " of ")
	}
	if why := because(o.Cause); why != "" {
		s += ", because " + why
	}
	s += "." + stepsNote(h)
	// Of later attempts only the end is known, and they have none yet.
	if since := For(now.Sub(h.Started)); h.Attempt <= 1 && !h.Started.IsZero() && since != "" {
		s += " It has been running " + since + "."
	}
	return s
}

// unanswered describes the request whose answer the object waits for.
func unanswered(u *inspect.Unanswered, now time.Time) string {
	what := "our PATCH"
	if u.Subresource != "" {
		what += " of the " + u.Subresource
	}
	return "Waits for the answer of the API server to " + what + ", sent " + Since(now.Sub(u.Since)) + "."
}

func waiting(o *inspect.Object, now time.Time) string {
	w := o.Waiting
	if w == nil {
		return "No decision yet: our own patch has not come back."
	}
	return fmt.Sprintf("No decision yet: our own patch v%s has not come back, the stream is at v%s. Decides at the latest %s.",
		w.Wrote, w.Seen, In(w.Deadline.Sub(now)))
}

func settled(o *inspect.Object, now time.Time, held string) string {
	if o.Cause == nil {
		watchers := ids(o, func(h *inspect.HandlerState) bool { return h.Kind == inspect.KindEvent && h.Why == nil })
		if len(watchers) > 0 {
			return "Only watched: " + list(watchers) + pick(len(watchers), " gets", " get") + " every event; nothing is stored on this object."
		}
		if said := indexed(o, now, held); said != "" {
			return said
		}
		if slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool {
			return h.Kind == inspect.KindReconcile && h.State == inspect.PhaseDone
		}) {
			return settledChildren(o.Children) + "; the next change of the object or of a child is handled."
		}
		return "Nothing to do here."
	}
	if o.Cause.Done.IsZero() {
		return "All is handled; nothing has changed since."
	}
	if o.Cause.Reason == inspect.ReasonNoop {
		return "Nothing to handle: the object is as it was when it was last handled."
	}
	handled := "All handled " + Since(now.Sub(o.Cause.Done))
	if IsEvent(o.Cause.Reason) {
		handled += " (" + string(o.Cause.Reason) + ")"
	}
	if o.Cause.Reason == inspect.ReasonDelete || o.Cause.Reason == inspect.ReasonFree {
		return handled + "; the deletion waits for finalizers of others."
	}
	return handled + "; nothing has changed since."
}
