package model

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	// longRetry is how long a handler of an object may be retried until that is an alarm.
	longRetry = time.Hour

	// unusedAfter is how long after the start of the operator a handler that was never called is an alarm.
	unusedAfter = 10 * time.Minute
)

// retriedLong returns the handler of an object that has been retried for the longest time, for long.
func (s *State) retriedLong(now time.Time) Alarm {
	h := s.oldestRetry
	if h == nil || now.Sub(h.Started) < longRetry {
		return Alarm{}
	}
	return Alarm{
		Tone: Warn,
		Fact: fmt.Sprintf("! %s of %s is retried for %s", s.ShortName(h.ID), QualifiedName(h.Object.Ref), Ago(now.Sub(h.Started))),
		Rest: Count(h.Attempt, "attempt") + " · state:retrying in the filter finds it",
	}
}

// noteRetry remembers the handler that has been retried for the longest time.
func (s *State) noteRetry(o *inspect.Object, h *inspect.HandlerState) {
	if h.State != inspect.PhaseRetrying || h.Parent != "" || h.Started.IsZero() {
		return
	}
	if s.oldestRetry == nil || h.Started.Before(s.oldestRetry.Started) {
		s.oldestRetry = &BackgroundTask{o, h}
	}
}

// keptOut counts how many objects a filter keeps out of a handler.
type keptOut struct {
	filtered, others int
	why              *inspect.Mismatch // of one of them
}

// noteFilter counts whether a filter keeps out an object.
func (s *State) noteFilter(h *inspect.HandlerState) {
	switch h.Kind {
	case inspect.KindCreate, inspect.KindResume, inspect.KindEvent, inspect.KindDaemon, inspect.KindTimer:
	default:
		return // it is normal that nothing is updated or deleted
	}
	k := s.kept[h.ID]
	if h.State == inspect.PhaseFiltered && h.Why != nil && h.Why.Kind != inspect.MismatchDeleted {
		k.filtered++
		k.why = h.Why
	} else {
		k.others++
	}
	s.kept[h.ID] = k
}

// unused returns the first handler that was never called although there are objects, because its filters keep out
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
			Rest: Mismatch(k.why) + " · 2 shows each",
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
