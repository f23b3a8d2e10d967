package observe

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// shown is the state of an object that the inspector publishes.
type shown struct {
	inspect.Object
	deleting time.Time // time of the first version with a deletion timestamp; zero before
	notes    ChildNotes
}

// after returns the object after an event, and whether to publish it at once. Without an event, only the state may have
// changed. Readers may still have the previous object, so its slices are not modified.
func (o shown) after(event Event, now time.Time) (after shown, publish bool) {
	publish = true
	own := slices.IndexFunc(o.Handlers, isOrphan)
	if own < 0 {
		own = len(o.Handlers)
	}
	orphans := o.Handlers[own:] // records without handlers come last; only [Planned] replaces them
	o.Handlers = slices.Clone(o.Handlers[:own])
	switch e := event.(type) {
	case EventDispatched:
		o.see(e.Subject.Object, now)
		o.dispatched(e)
		publish = false // the event of a call follows
	case Planned:
		o.see(e.Subject.Object, now)
		o.planned(e)
		if e.Changing {
			orphans = orphansOf(e)
		}
	case MarkBroken:
		o.markBroken(e)
	case SlotAwaited:
		publish = o.slotAwaited(e)
	case AttemptStarted:
		publish = o.attemptStarted(e)
	case StepChanged:
		publish = o.stepChanged(e)
	case AttemptEnded:
		publish = o.attemptEnded(e)
	case ChildrenChanged:
		o.childrenChanged(e, now)
	case Recorded:
		o.recorded(e)
	case PatchPending:
		o.Unanswered = nil
		if !e.Since.IsZero() {
			o.Unanswered = &inspect.Unanswered{Subresource: e.Subresource, Since: e.Since}
		}
	case Sent:
		o.sent(e)
	case Ended:
		publish = o.ended(e)
	case BackgroundStopped:
		publish = o.backgroundStopped(e)
	case ObjectIndexed:
		o.indexed(e)
		publish = o.ResourceVersion != "" // objects are indexed before their first cycle
	case EventReceived:
		publish = o.noteDeletion(now)
	}
	o.Handlers = append(o.Handlers, orphans...)
	o.State = o.state(now)
	return o, publish
}

// see takes over the metadata of the handled version.
func (o *shown) see(version *object.Object, now time.Time) {
	o.Created, o.Generation = version.Created, version.Generation
	if version.Deleting {
		o.noteDeletion(now)
	}
}

// sent sets the time since when outcomes of handlers are not recorded on the object; zero if they are recorded.
func (o *shown) sent(e Sent) {
	since := e.Since
	if e.Err == nil {
		since = time.Time{}
	}
	for _, id := range e.Handlers {
		if i := o.index(id); i >= 0 {
			o.Handlers[i].Unrecorded = since
		}
	}
}

// ended shows that the handling of the object fails, or succeeds again.
func (o *shown) ended(e Ended) (changed bool) {
	if cause := o.Cause; e.Finished && cause != nil && cause.Done.IsZero() {
		done := *cause
		done.Done = e.At
		o.Cause, changed = &done, true
	}
	if e.Finished && e.Err == nil {
		o.endSteps()
	}
	switch {
	case e.Skipped:
		o.ResourceVersion = e.Subject.Object.ResourceVersion
		return true
	case e.Err == nil:
		changed = changed || o.Failing != nil || !slices.Equal(o.Awaits, e.Awaits)
		o.Failing, o.Awaits = nil, e.Awaits
		return changed
	}
	failing := failingOf(e.Subject.Secrets.Text(e.Err.Error()))
	failing.Since, failing.Next = e.At, e.At.Add(e.RetryIn)
	if o.Failing != nil {
		failing.Since = o.Failing.Since
	}
	o.Failing = failing
	return true
}

// maxUnreadable is the number of unreadable records of an object that are kept: the newest.
const maxUnreadable = 20

// markBroken adds an unreadable record of the object to the list.
func (o *shown) markBroken(e MarkBroken) {
	before := o.Unreadable[max(0, len(o.Unreadable)+1-maxUnreadable):]
	o.Unreadable = append(slices.Clone(before), inspect.Unreadable{
		What: e.Mark.What, Where: e.Mark.Where(), Error: e.Subject.Secrets.Text(e.Mark.Err.Error()), Aside: e.Mark.Aside(),
	})
}

// orphansOf returns the states of recorded handlers that do not exist. They do not affect the state of the object, because
// it does not wait for them.
func orphansOf(e Planned) []inspect.HandlerState {
	var orphans []inspect.HandlerState
	for _, orphan := range e.Orphans {
		s := inspect.HandlerState{ID: orphan.ID}
		showRecord(&s, orphan.Record, e.Subject.Secrets)
		s.State = inspect.PhaseUnknown
		orphans = append(orphans, s)
	}
	return orphans
}

func isOrphan(h inspect.HandlerState) bool { return h.State == inspect.PhaseUnknown }

func groupOf(h inspect.HandlerState) handlers.Group { return handlers.Family(h.Kind).Group() }

// showRecord shows a handler's record on the object.
func showRecord(s *inspect.HandlerState, record state.Record, secrets *redact.Secrets) {
	s.Started, s.Attempt = record.Started, record.Retries
	switch {
	case record.Success:
		s.State, s.Next = inspect.PhaseDone, time.Time{}
	case record.Failure:
		s.State, s.Next = inspect.PhaseFailed, time.Time{}
	case record.Retries > 0:
		s.State, s.Next = inspect.PhaseRetrying, record.Delayed
	default:
		s.State, s.Next = inspect.PhaseNext, record.Delayed
	}
	if s.Error == nil && record.Message != "" && !record.Success {
		s.Error = &inspect.HandlerError{Kind: inspect.ErrorArbitrary, Message: secrets.Text(record.Message)}
	}
}
