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

// shown is an object as readers of the inspector see it.
type shown struct {
	inspect.Object
	deleting time.Time // time of the first version with a deletion timestamp; zero before
}

// after returns the object after an event about it, and whether readers should see that at once. Without an event, only
// its state may have changed. Readers keep the object before the event: its slices do not change.
func (o shown) after(event Event, now time.Time) (after shown, publish bool) {
	publish = true
	own := slices.IndexFunc(o.Handlers, isOrphan)
	if own < 0 {
		own = len(o.Handlers)
	}
	orphans := o.Handlers[own:] // last, and not among those of the other steps
	o.Handlers = slices.Clone(o.Handlers[:own])
	switch e := event.(type) {
	case EventDispatched:
		o.see(e.Subject.Object, now)
		o.dispatched(e)
		publish = false // the call of a handler follows
	case Planned:
		o.see(e.Subject.Object, now)
		o.planned(e)
		if e.Changing {
			orphans = orphansOf(e)
		}
	case MarkBroken:
		o.markBroken(e)
	case AttemptStarted:
		publish = o.attemptStarted(e)
	case AttemptEnded:
		publish = o.attemptEnded(e)
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
		publish = o.ResourceVersion != "" // objects are indexed before their worker begins with them
	case EventReceived:
		publish = o.noteDeletion(now)
	}
	o.Handlers = append(o.Handlers, orphans...)
	o.State = o.state(now)
	return o, publish
}

// see takes the metadata of the version that is handled.
func (o *shown) see(version *object.Object, now time.Time) {
	o.Created, o.Generation = version.Created, version.Generation
	if version.Deleting {
		o.noteDeletion(now)
	}
}

// sent notes since when the outcomes of handlers are not recorded on the object; zero if they are.
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
	switch {
	case e.Skipped:
		o.ResourceVersion = e.Subject.Object.ResourceVersion
		return true
	case e.Err == nil:
		changed = changed || o.Failing != nil
		o.Failing = nil
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

// maxUnreadable limits how many unreadable records of an object are kept, the newest ones.
const maxUnreadable = 20

// markBroken lists what could not be read on the object.
func (o *shown) markBroken(e MarkBroken) {
	before := o.Unreadable[max(0, len(o.Unreadable)+1-maxUnreadable):]
	o.Unreadable = append(slices.Clone(before), inspect.Unreadable{
		What: e.Mark.What, Where: e.Mark.Where(), Error: e.Subject.Secrets.Text(e.Mark.Err.Error()), Aside: e.Mark.Aside(),
	})
}

// orphansOf returns the states of handlers that do not exist. They do not count for the state of the object,
// which does not wait for them.
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
