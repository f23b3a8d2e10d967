package engine

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// meters tells the meter what the operator does. All its methods do nothing on nil: without
// a meter, that is all it costs.
type meters struct {
	meter    observe.Meter
	handlers []*handlers.Handler
}

// eventKinds are the types of events as labels.
var eventKinds = map[string]string{
	watch.Listed: "listed", watch.Added: "added", watch.Modified: "modified", watch.Deleted: "deleted",
}

func (m *meters) event(resource string, event watch.Event) {
	if m != nil {
		m.meter.Event(resource, eventKinds[event.Type])
	}
}

// began counts a cause when it begins: the memory tells if it goes on.
func (m *meters) began(c *cycle) {
	if m == nil || c.memory.counted == c.cause.Reason {
		return
	}
	c.memory.counted = c.cause.Reason
	m.meter.Cause(c.served.resource.Key(), string(c.cause.Reason))
}

// progressed notes which handlers of an object are to be tried again.
func (m *meters) progressed(c *cycle, state state.Progress) {
	if m == nil {
		return
	}
	retrying := int32(0)
	for _, h := range state.Handlers() {
		if h.Active && !h.Finished() && h.Record.Retries > 0 {
			retrying++
		}
	}
	c.memory.retrying.Store(retrying)
	if state.Done() {
		m.settled(c)
	}
}

// settled notes that nothing is left to do about an object.
func (m *meters) settled(c *cycle) {
	if m == nil {
		return
	}
	c.memory.counted = ""
	c.memory.retrying.Store(0)
}

// attempted counts a call of a handler, and what its error has led to.
func (m *meters) attempted(h *handlers.Handler, took time.Duration, out handlers.Outcome, err error) {
	if m == nil {
		return
	}
	a := observe.MeteredAttempt{Handler: m.label(h), Outcome: observe.Succeeded, Called: true, Took: took}
	switch {
	case !out.Final && isUnfinished(err):
		a.Outcome = observe.Unfinished
	case !out.Final:
		a.Outcome = observe.Retried
	case out.Err != nil:
		a.Outcome = observe.Failed
	case err != nil:
		a.Outcome = observe.Ignored
	}
	m.meter.Attempt(a)
}

// givenUp counts a handler whose limits have ended before another call.
func (m *meters) givenUp(h *handlers.Handler) {
	if m != nil {
		m.meter.Attempt(observe.MeteredAttempt{Handler: m.label(h), Outcome: observe.Failed})
	}
}

func isUnfinished(err error) bool {
	var children *handlers.ChildrenRetry
	return errors.As(err, &children)
}

// label is a handler that is registered. Sub-handlers are made while the operator runs,
// possibly one for each item of each object: they are counted by their parents.
func (m *meters) label(h *handlers.Handler) observe.MeteredHandler {
	label := observe.MeteredHandler{Kind: string(h.Family)}
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

func (m *meters) waited(seen bool, took time.Duration) {
	if m != nil {
		m.meter.Wait(seen, took)
	}
}

func (m *meters) restarted(resource string, r watch.Restart) {
	if m != nil {
		m.meter.Restart(resource, string(r.Reason))
	}
}

func (m *meters) loggedIn(err error) {
	if m != nil {
		m.meter.Login(err == nil)
	}
}

func (m *meters) request(call kube.Call) {
	m.meter.Request(call.Verb, call.Status, call.Duration)
}

// begin shows the meter what there is, until the returned function is called.
func (m *meters) begin(look func() observe.MeterState) (end func()) {
	if m == nil {
		return func() {}
	}
	handlers := make([]observe.MeteredHandler, len(m.handlers))
	for i, h := range m.handlers {
		handlers[i] = m.label(h)
	}
	return m.meter.Begin(handlers, look)
}

// metersOf returns the meters of the current settings, for the operator's own handlers: some of them
// run before the settings are final. It is nil without a meter.
func (o *operator) metersOf() *meters {
	meter := o.settings.Load().Meter
	if meter == nil {
		return nil
	}
	// Not all logins that are registered are used, and others may be.
	all := slices.DeleteFunc(slices.Clone(o.config.Registry.All()), func(h *handlers.Handler) bool { return h.Family == handlers.Login })
	return &meters{meter, append(all, o.config.Logins...)}
}

// activityMeters returns the meters of an activity. Attempts of startup handlers are kept until the
// settings are final: one of these handlers may set the meter.
func (o *operator) activityMeters(family handlers.Family) *meters {
	if family == handlers.Startup {
		return &meters{meter: &o.startups}
	}
	return o.metersOf()
}

// startupMeter keeps the attempts of startup handlers.
type startupMeter struct {
	observe.Meter
	attempts []observe.MeteredAttempt
}

// Attempt implements [observe.Meter].
func (s *startupMeter) Attempt(a observe.MeteredAttempt) { s.attempts = append(s.attempts, a) }

// replay passes the attempts on.
func (s *startupMeter) replay(m *meters) {
	for _, a := range s.attempts {
		if m != nil {
			m.meter.Attempt(a)
		}
	}
	s.attempts = nil
}

// state is what there is at the moment, for the meter.
func (o *operator) state() observe.MeterState {
	queue := o.deps.queue.Stats()
	s := observe.MeterState{
		Objects: o.memories.onlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, Paused: o.deps.state.paused.Load(),
	}
	for _, m := range o.memories.all() {
		s.Objects++
		s.Retrying += int(m.retrying.Load())
		group := m.group.Load()
		if group == nil {
			continue
		}
		for _, task := range group.Tasks() {
			if task.Handler.Family == handlers.Daemon {
				s.Daemons++
			} else {
				s.Timers++
			}
		}
	}
	if o.deps.poster != nil {
		stats := o.deps.poster.Stats()
		s.Posted, s.Repeated, s.Failed, s.Dropped = stats.Posted, stats.Repeated, stats.Failed, stats.Dropped
	}
	return s
}
