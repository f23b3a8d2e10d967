package observe

import (
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Metrics is a subscriber that passes counts on to a [Meter].
type Metrics struct {
	meter    Meter
	handlers []*handlers.Handler

	mu      sync.Mutex
	objects map[*Identity]meteredObject // objects with unfinished handlers
}

// meteredObject is the contribution of one object to the counts.
type meteredObject struct {
	cause    handlers.Reason // counted cause; empty if there is none
	retrying int             // number of handlers that will be retried
}

// NewMetrics returns a subscriber for a meter, with the operator's handlers.
func NewMetrics(meter Meter, handlers []*handlers.Handler) *Metrics {
	return &Metrics{meter: meter, handlers: handlers, objects: map[*Identity]meteredObject{}}
}

// Begin gives the meter access to the state of the operator, until the returned function is called.
func (m *Metrics) Begin(state func() MeterState) (end func()) {
	labels := make([]MeteredHandler, len(m.handlers))
	for i, h := range m.handlers {
		labels[i] = m.label(h)
	}
	return m.meter.Begin(labels, func() MeterState {
		s := state()
		s.Retrying = m.retrying()
		return s
	})
}

// retrying returns the number of handlers that will be retried.
func (m *Metrics) retrying() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := 0
	for _, o := range m.objects {
		sum += o.retrying
	}
	return sum
}

// Kinds implements [Subscriber].
func (m *Metrics) Kinds() []Kind {
	return []Kind{
		KindPlanned, KindAttemptEnded, KindRecorded, KindObjectForgotten,
		KindStreamChanged, KindEventReceived, KindRequestEnded, KindLoginEnded,
		KindPassEnded,
	}
}

// eventLabels are the types of watch events as labels.
var eventLabels = map[string]string{
	watch.Listed: "listed", watch.Added: "added", watch.Modified: "modified", watch.Deleted: "deleted",
}

// Receive implements [Subscriber].
func (m *Metrics) Receive(event Event) {
	switch e := event.(type) {
	case Planned:
		if e.Begun {
			m.begun(e)
		}
	case AttemptEnded:
		m.meter.Attempt(MeteredAttempt{
			Handler: m.label(e.Handler), Outcome: meteredOutcome(e), Called: !e.Exhausted, Took: e.Took,
			Object: e.Subject.Reference,
		})
	case Recorded:
		m.recorded(e)
	case ObjectForgotten:
		m.settled(e.Identity)
	case StreamChanged:
		if e.Phase == StreamRestarted {
			m.meter.Restart(e.Stream.Resource, string(e.Restart.Reason))
		}
	case EventReceived:
		m.meter.Event(e.Stream.Resource, eventLabels[e.Event.Type])
	case RequestEnded:
		m.meter.Request(e.Call.Verb, e.Call.Status, e.Call.Duration)
	case LoginEnded:
		m.meter.Login(e.Err == nil)
	case PassEnded:
		m.passed(e)
	}
}

// passed counts a pass, and its results for the children.
func (m *Metrics) passed(e PassEnded) {
	wake := ""
	if len(e.Pass.Wakes) > 0 {
		wake = string(e.Pass.Wakes[0].Kind)
	}
	m.meter.Pass(e.Resource, string(e.Pass.Outcome), wake)
	for i := range e.Pass.Children {
		c := &e.Pass.Children[i]
		switch c.Result {
		case "":
		case inspect.ResultPruned:
			m.meter.Prune(c.Resource)
		default:
			m.meter.Apply(c.Resource, string(c.Result))
		}
		for _, d := range c.Drift {
			if d.Outcome == inspect.DriftReverted { // each pass reports fields that are left to others again
				m.meter.Drift(c.Resource)
			}
		}
	}
}

// begun counts a cause once, regardless of the number of attempts.
func (m *Metrics) begun(e Planned) {
	if !e.Cause.Reason.Handled() || len(e.Selected) == 0 {
		m.settled(e.Subject.Identity)
		return
	}
	m.mu.Lock()
	o := m.objects[e.Subject.Identity]
	fresh := o.cause != e.Cause.Reason
	o.cause = e.Cause.Reason
	m.objects[e.Subject.Identity] = o
	m.mu.Unlock()
	if fresh {
		m.meter.Cause(e.Subject.Resource.Key(), string(e.Cause.Reason))
	}
}

// recorded records the number of handlers of an object that will be retried.
func (m *Metrics) recorded(e Recorded) {
	switch {
	case e.Parent != "":
		return
	case e.Progress.Done():
		m.settled(e.Subject.Identity)
		return
	}
	retrying := 0
	for _, h := range e.Progress.Handlers() {
		if h.Active && !h.Finished() && h.Record.Retries > 0 {
			retrying++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[e.Subject.Identity]
	o.retrying = retrying
	m.objects[e.Subject.Identity] = o
}

// settled records that an object has no work left.
func (m *Metrics) settled(identity *Identity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, identity)
}

// label returns the label values of a handler. A sub-handler has the labels of its parent, because handlers can add
// sub-handlers at run time, for example one for each item of each object.
func (m *Metrics) label(h *handlers.Handler) MeteredHandler {
	label := MeteredHandler{Kind: string(h.Family)}
	if h.Family != handlers.Sub {
		label.ID = h.ID
		return label
	}
	for _, known := range m.handlers {
		if strings.HasPrefix(h.ID, known.ID+"/") && len(known.ID) > len(label.ID) {
			label.ID = known.ID
		}
	}
	return label
}

// meteredOutcome returns the outcome of an attempt.
func meteredOutcome(e AttemptEnded) MeteredOutcome {
	switch out := e.Outcome; {
	case !out.Final && isUnfinished(e.Err):
		return Unfinished
	case out.Waits, !out.Final && handlers.ErrorKindOf(out.Err) == handlers.KindTemporary:
		return Waiting
	case !out.Final:
		return Retried
	case out.Err != nil && e.Handler.Family.Group() == handlers.Admission && handlers.ErrorKindOf(out.Err) == handlers.KindAdmission:
		return Denied
	case out.Err != nil:
		return Failed
	case e.Err != nil:
		return Ignored
	default:
		return Succeeded
	}
}
