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
	m.meter.Cause(c.resource.Key(), string(c.cause.Reason))
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

// metersOf are for the operator's own handlers, some of which come before the settings are
// certain; nil if nobody counts.
func (o *operator) metersOf() *meters {
	m := o.valid.Load().Meter
	if m == nil {
		return nil
	}
	// Not all logins that are registered are used, and others may be.
	handlers := slices.DeleteFunc(slices.Clone(o.config.Registry.All()), func(h *handlers.Handler) bool { return h.Family == handlers.Login })
	return &meters{m, append(handlers, o.config.Logins...)}
}

// count counts an activity. Those of the start are counted later: one of them may be who
// says where.
func (o *operator) count(h *handlers.Handler, tell func(*meters)) {
	if h.Family == handlers.Startup {
		o.uncounted = append(o.uncounted, tell)
		return
	}
	tell(o.metersOf())
}

// state is what there is at the moment, for the meter.
func (o *operator) state() observe.MeterState {
	queue := o.queue.Stats()
	s := observe.MeterState{
		Objects: o.memories.onlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, Paused: o.paused.Load(),
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
	if o.poster != nil {
		stats := o.poster.Stats()
		s.Posted, s.Repeated, s.Failed, s.Dropped = stats.Posted, stats.Repeated, stats.Failed, stats.Dropped
	}
	return s
}
