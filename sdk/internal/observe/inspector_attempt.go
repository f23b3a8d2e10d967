package observe

import (
	"errors"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// maxAttempts is the number of attempts that are kept for each handler of each object.
const maxAttempts = 8

// handler returns a copy of the state of a handler; a new one if there is none.
func (o *shown) handler(h *handlers.Handler) inspect.HandlerState {
	s := inspect.HandlerState{ID: h.ID}
	if i := o.place(h); i >= 0 {
		s = o.Handlers[i]
	}
	s.Kind = inspect.HandlerKind(h.Family)
	return s
}

// decided returns a copy of the state of a handler of the object, with all kinds that its function is registered for.
func (o *shown) decided(h *handlers.Handler, set *handlers.Set) inspect.HandlerState {
	s := o.handler(h)
	s.Kinds = nil
	for _, family := range set.Families(h) {
		s.Kinds = append(s.Kinds, inspect.HandlerKind(family))
	}
	return s
}

// place returns the index of a handler in the list; -1 if the list does not have it. If its function is registered for
// several causes, the entry may have the kind of another cause.
func (o *shown) place(h *handlers.Handler) int {
	near := -1
	for i := range o.Handlers {
		switch s := &o.Handlers[i]; {
		case s.ID != h.ID:
		case s.Kind == inspect.HandlerKind(h.Family):
			return i
		case near < 0 && groupOf(*s) == h.Family.Group():
			near = i
		}
	}
	return near
}

// index returns the index of a handler in the list; -1 if the list does not have it. It skips indexing functions, because
// other handlers may have the same ids.
func (o *shown) index(id string) int {
	return slices.IndexFunc(o.Handlers, func(h inspect.HandlerState) bool {
		return h.ID == id && groupOf(h) != handlers.Indexing
	})
}

// called returns the state of a handler that is called; nil if the inspector does not show it. Daemons and timers are shown
// from their first call, because they may run before the cause is detected.
func (o *shown) called(h *handlers.Handler) *inspect.HandlerState {
	i := o.place(h)
	if i < 0 && h.Family == handlers.Sub {
		i = o.insertSub(h.ID, inspect.PhaseNext) // its record comes after its first call
	}
	if i < 0 && h.Family.Group() == handlers.Spawning {
		o.Handlers = append(o.Handlers, inspect.HandlerState{ID: h.ID, Kind: inspect.HandlerKind(h.Family)})
		i = len(o.Handlers) - 1
	}
	if i < 0 {
		return nil
	}
	return &o.Handlers[i]
}

// slotAwaited shows that a handler waits for a slot.
func (o *shown) slotAwaited(e SlotAwaited) (known bool) {
	s := o.called(e.Handler)
	if s == nil {
		return false
	}
	s.Slot = true
	if e.Handler.Family == handlers.Timer {
		s.State, s.Next = inspect.PhaseTicking, time.Time{}
	}
	return true
}

func (o *shown) attemptStarted(e AttemptStarted) (known bool) {
	s := o.called(e.Handler)
	if s == nil {
		return false
	}
	s.State = runningPhase(e.Handler)
	s.Attempt, s.Started, s.Next = e.Retries+1, e.Started, time.Time{}
	s.Error, s.Took, s.Unrecorded, s.Slot = nil, 0, time.Time{}, false
	showMaxDelay(s, e.Handler)
	return true
}

// showMaxDelay shows how long the delays of a handler grow. Sub-handlers and indexing functions have no decision before their
// first attempt.
func showMaxDelay(s *inspect.HandlerState, h *handlers.Handler) {
	s.MaxDelay = 0
	if h.MaxBackoff != nil {
		s.MaxDelay = inspect.Duration(*h.MaxBackoff)
	}
}

func (o *shown) attemptEnded(e AttemptEnded) (known bool) {
	if e.Handler.Family == handlers.Index {
		s := o.indexing(e.Handler)
		s.Started, s.Attempt = e.Started, e.Retries+1
		showAttempt(s, e)
		return false // [ObjectIndexed] follows and publishes the state
	}
	s := o.called(e.Handler)
	if s == nil {
		return false
	}
	showAttempt(s, e)
	s.Steps = withoutSteps(s.Steps, func(step inspect.Step) bool { return step.State == inspect.StepRunning })
	ended := e.Began.Add(e.Took)
	switch out := e.Outcome; {
	case out.Final && e.Handler.Family == handlers.Timer && out.Err == nil:
		s.State, s.Next = inspect.PhaseTicking, nextTick(e.Handler, ended, e.Took)
	case out.Final && out.Err == nil:
		s.State = inspect.PhaseDone
	case out.Final:
		s.State = inspect.PhaseFailed
	default:
		s.State, s.Next = inspect.PhaseRetrying, ended
		switch {
		case out.Delay != nil:
			s.Next = ended.Add(*out.Delay)
		case out.Waits:
			s.Next = time.Time{} // an event decides
		}
	}
	return true
}

// showAttempt adds an attempt to the state of its handler.
func showAttempt(s *inspect.HandlerState, e AttemptEnded) {
	s.Took, s.Error = inspect.Duration(e.Took), shownError(e.Outcome.Err)
	attempt := inspect.Attempt{At: e.Began, Took: inspect.Duration(e.Took), Error: s.Error}
	if attempt.Error == nil {
		attempt.Error = shownError(e.Err) // the outcome does not have an ignored error
	}
	if groupOf(*s) == handlers.Spawning {
		s.Runs++
	}
	attempts := append(slices.Clone(s.Attempts), attempt)
	s.Attempts = attempts[max(0, len(attempts)-maxAttempts):]
}

func shownError(err error) *inspect.HandlerError {
	if err = failure(err); err == nil {
		return nil
	}
	kind := handlers.ErrorKindOf(err)
	if kind == handlers.KindWaiting {
		kind = handlers.KindTemporary // readers of the inspector show both errors as a wait
	}
	return &inspect.HandlerError{Kind: inspect.ErrorKind(kind), Message: err.Error()}
}

// failure returns the error of an attempt; nil if the attempt only waits for sub-handlers.
func failure(err error) error {
	if isUnfinished(err) {
		return nil
	}
	return err
}

func isUnfinished(err error) bool {
	var children *handlers.ChildrenRetry
	return errors.As(err, &children)
}

// recorded applies the handlers' new records on the object. New sub-handlers are listed after their parent.
func (o *shown) recorded(e Recorded) {
	at := -1
	if e.Parent != "" {
		at = o.index(e.Parent)
	}
	for _, h := range e.Progress.Handlers() {
		i := o.index(h.ID)
		switch {
		case e.Parent != "":
			if i < 0 {
				i = at + 1
				o.insert(i, inspect.HandlerState{ID: h.ID, Kind: inspect.KindSub, Parent: e.Parent})
			}
			at = i
		case i < 0 || !h.Active:
			continue
		}
		showRecord(&o.Handlers[i], h.Record, e.Subject.Secrets)
	}
}

// insert inserts a handler into the list. [slices.Insert] would link 5 KB for it.
func (o *shown) insert(at int, h inspect.HandlerState) {
	o.Handlers = slices.Concat(o.Handlers[:at], []inspect.HandlerState{h}, o.Handlers[at:])
}

// runningPhase returns the phase of a handler that is called now. Daemons and timers have a separate phase, because the
// object is not busy while they run.
func runningPhase(h *handlers.Handler) inspect.HandlerPhase {
	switch h.Family {
	case handlers.Daemon:
		return inspect.PhaseAlive
	case handlers.Timer:
		return inspect.PhaseTicking
	default:
		return inspect.PhaseRunning
	}
}

// nextTick returns the time of a timer's next tick; zero if the time depends on changes of the object.
func nextTick(h *handlers.Handler, ended time.Time, took time.Duration) time.Time {
	switch {
	case h.Interval == nil:
		return time.Time{}
	case h.Sharp:
		return ended.Add(*h.Interval - took%*h.Interval)
	default:
		return ended.Add(*h.Interval)
	}
}
