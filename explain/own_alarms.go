package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	// longRetry is how long a handler of an object may be retried before an alarm is raised.
	longRetry = time.Hour

	// unusedAfter is how long the operator must run before a handler that was never called raises an alarm.
	unusedAfter = 10 * time.Minute
)

// retriedLong returns the alarm about the handler that has been retried for the longest time, if that is longRetry or more.
func (s *State) retriedLong(now time.Time) Alarm {
	h := s.oldest
	if h.HandlerState == nil || now.Sub(h.Started) < longRetry {
		return Alarm{}
	}
	return Alarm{
		Tone: Warn,
		Fact: fmt.Sprintf("! %s of %s has been retried for %s", s.ShortName(h.ID), QualifiedName(h.Object.Ref), Ago(now.Sub(h.Started))),
		Rest: Count(h.Attempt, "attempt") + " · state:retrying in the filter finds it",
	}
}

// keptOut counts how many objects a filter keeps out of a handler.
type keptOut struct{ filtered, others int }

// addFilter counts whether a filter keeps out an object.
func (t *tally) addFilter(o *inspect.Object, h *inspect.HandlerState, by int) {
	switch h.Kind {
	case inspect.KindCreate, inspect.KindResume, inspect.KindEvent, inspect.KindDaemon, inspect.KindTimer, inspect.KindReconcile:
	default:
		return // it is normal that nothing is updated or deleted
	}
	k := t.kept[h.ID]
	if isKeptOut(h) || wasKeptOut(o, h) {
		k.filtered += by
	} else {
		k.others += by
	}
	t.kept[h.ID] = k
}

// isKeptOut reports whether a filter keeps out an object.
func isKeptOut(h *inspect.HandlerState) bool {
	return h.State == inspect.PhaseFiltered && h.Why != nil && h.Why.Kind != inspect.MismatchDeleted
}

// wasKeptOut reports whether a create handler's filter rejected the object when it was created, and the object has
// changed since.
func wasKeptOut(o *inspect.Object, h *inspect.HandlerState) bool {
	if h.Kind != inspect.KindCreate || h.Why == nil || h.Why.Kind != inspect.MismatchReason {
		return false
	}
	return slices.ContainsFunc(o.History, func(past inspect.PastCause) bool {
		return past.Reason == inspect.ReasonCreate && past.SupersededAt == "" && !slices.Contains(past.Handlers, h.ID)
	})
}

// keptOutBy returns the reason why a filter of the handler rejected the first rejected object; nil if it rejected none, or if all
// rejected objects have changed since.
func (s *State) keptOutBy(handler string) *inspect.Mismatch {
	for _, o := range s.Objects {
		if h := o.Handler(handler); h != nil && isKeptOut(h) {
			return h.Why
		}
	}
	return nil
}

// unused returns the alarm about the first handler that was never called although there are objects, because its filters reject
// all of them.
func (s *State) unused(now time.Time) Alarm {
	if s.Snapshot == nil || !s.Live || now.Sub(s.Snapshot.Operator.Started) < unusedAfter {
		return Alarm{}
	}
	for i := range s.Snapshot.Handlers {
		h := &s.Snapshot.Handlers[i]
		k := s.kept[h.ID]
		if k.filtered == 0 || k.others > 0 || s.Runs(h) > 0 {
			continue
		}
		return Alarm{
			Tone: Warn,
			Fact: "! " + s.ShortName(h.ID) + " never ran: its filter keeps out " + all(k.filtered),
			Rest: strings.TrimPrefix(Mismatch(s.keptOutBy(h.ID))+" · 2 shows each", " · "),
		}
	}
	return Alarm{}
}

func all(objects int) string {
	if objects == 1 {
		return "the only object"
	}
	return "all " + Count(objects, "object")
}
