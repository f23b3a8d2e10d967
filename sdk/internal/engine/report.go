package engine

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// How much of the past is kept for each object.
const (
	maxAttempts = 8
	maxHistory  = 8
)

// report is what the inspector is told of one object: by its worker, and by its daemons.
type report struct {
	mu       sync.Mutex
	reporter *reporter
	object   inspect.Object
	handlers []inspect.HandlerState
	orphans  []inspect.HandlerState // that nobody has
	finalize bool                   // the object is being deleted
	dropped  bool                   // the object is gone: nothing is to be told of it any more
}

// reportOf returns the report of an object that is handled now.
func (r *reporter) reportOf(m *memory, res *resources.Resource, object *object.Object) *report {
	if r == nil {
		return nil
	}
	known := r.known(m, res, object)
	known.mu.Lock()
	defer known.mu.Unlock()
	known.object.Generation = object.Generation
	known.finalize = object.Deleting
	return known
}

// known returns the report of an object, which lives as long as the memory of it.
func (r *reporter) known(m *memory, res *resources.Resource, object *object.Object) *report {
	if r == nil {
		return nil
	}
	if known := m.report.Load(); known != nil {
		return known
	}
	m.report.CompareAndSwap(nil, &report{reporter: r, object: inspect.Object{
		Ref: refOf(res, object), Kind: res.Kind, Short: shortName(res), Created: object.Created,
	}})
	return m.report.Load()
}

// publish puts a copy of what is known: readers keep what they are given.
func (r *report) publish() {
	if r.dropped {
		return
	}
	o := r.object
	o.Handlers = slices.Concat(r.handlers, r.orphans)
	o.State = r.state()
	r.reporter.put(o)
}

// state is the first that applies.
func (r *report) state() inspect.ObjectState {
	has := func(phase inspect.HandlerPhase) bool {
		return slices.ContainsFunc(r.handlers, func(h inspect.HandlerState) bool { return h.State == phase })
	}
	unfinished := r.object.Cause != nil && r.object.Cause.Done.IsZero()
	switch {
	case has(inspect.PhaseFailed):
		return inspect.StateFailed
	case has(inspect.PhaseRunning):
		return inspect.StateRunning
	case r.object.Waiting != nil:
		return inspect.StateWaiting
	case unfinished && has(inspect.PhaseRetrying):
		return inspect.StateRetrying
	case unfinished && r.finalize && r.object.Finalizer:
		return inspect.StateDeleting
	case unfinished:
		return inspect.StateRunning
	case r.finalize && r.object.Finalizer:
		return inspect.StateDeleting
	case r.object.Cause == nil && !slices.ContainsFunc(r.handlers, accompanies):
		return inspect.StateIgnored
	default:
		return inspect.StateSettled
	}
}

// seen tells the cause and the decisions about all handlers.
func (r *report) seen(c *cycle, finalizer bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.object.ResourceVersion = c.object.ResourceVersion
	r.object.Finalizer = finalizer
	r.object.Waiting = nil
	switch {
	case !c.changing:
		r.object.Cause = nil
	case c.cause.Reason.Handled() && !c.resumesNothing():
		r.begin(c)
	case r.object.Cause == nil:
		// Nothing has happened since the operator has started.
		r.object.Cause = &inspect.Cause{Reason: string(handlers.ReasonNoop), Seen: c.now(), Version: c.object.ResourceVersion, Done: c.now()}
	default:
		// What was handled last remains to be shown.
		r.besides(c)
		r.publish()
		return
	}
	r.decide(c)
	r.besides(c)
	r.publish()
}

// resumesNothing tells that the object is there, as it was left, and that no handler cares.
func (c *cycle) resumesNothing() bool {
	return c.cause.Reason == handlers.ReasonResume && len(c.handlers.Selected(handlers.Changing, c.cause)) == 0
}

// begin makes the cause the current one, unless it is the continuation of it.
func (r *report) begin(c *cycle) {
	reason, now := string(c.cause.Reason), c.now()
	before := r.object.Cause
	if before != nil && before.Done.IsZero() && before.Reason == reason {
		before := *before
		before.Version, before.Diff = c.object.ResourceVersion, changesOf(c.cause)
		r.object.Cause = &before
		return
	}
	cause := &inspect.Cause{
		Reason: reason, Seen: now, Version: c.object.ResourceVersion,
		First: c.cause.Old == nil, Diff: changesOf(c.cause),
	}
	if before != nil {
		cause.LastHandled = before.Done
		if before.Done.IsZero() {
			r.remember(before, c.object.ResourceVersion)
		} else if handlers.Reason(before.Reason).Handled() {
			r.remember(before, "")
		}
	}
	r.object.Cause = cause
	r.handlers = slices.DeleteFunc(r.handlers, func(h inspect.HandlerState) bool { return h.Kind == string(handlers.Sub) })
	for i, h := range r.handlers {
		if ofCause(h) {
			// What it came to before is in the history: it must not look like a present failure.
			r.handlers[i] = inspect.HandlerState{ID: h.ID, Kind: h.Kind}
		}
	}
}

// ofCause tells handlers of causes from those of events, and from daemons and timers.
func ofCause(h inspect.HandlerState) bool {
	return handlers.Family(h.Kind).Group() == handlers.Changing
}

// remember moves a cause into the history.
func (r *report) remember(cause *inspect.Cause, supersededAt string) {
	past := inspect.PastCause{Reason: cause.Reason, At: cause.Seen, SupersededAt: supersededAt}
	for _, h := range r.handlers {
		if len(h.Attempts) == 0 || !ofCause(h) {
			continue
		}
		past.Handlers = append(past.Handlers, h.ID)
		if h.State == inspect.PhaseFailed {
			past.Failed = append(past.Failed, h.ID)
		}
	}
	if !cause.Done.IsZero() {
		past.Took = cause.Done.Sub(cause.Seen).Round(time.Millisecond).String()
	}
	history := append([]inspect.PastCause{past}, r.object.History...)
	r.object.History = history[:min(len(history), maxHistory)]
}

func (r *report) handler(id, kind string) inspect.HandlerState {
	if i := r.index(id); i >= 0 {
		return r.handlers[i]
	}
	return inspect.HandlerState{ID: id, Kind: kind}
}

// index is where a handler is in the list; those of indices are on their own, as they are no
// handlers to their users, and may well be called as one of these.
func (r *report) index(id string) int {
	return slices.IndexFunc(r.handlers, func(h inspect.HandlerState) bool { return h.ID == id && !isIndexing(h) })
}

func (r *report) subsOf(id string) []inspect.HandlerState {
	var subs []inspect.HandlerState
	for _, h := range r.handlers {
		if h.Kind == string(handlers.Sub) && strings.HasPrefix(h.ID, id+"/") {
			subs = append(subs, h)
		}
	}
	return subs
}

// attempting tells that a handler is called now.
func (r *report) attempting(h *handlers.Handler, retries int, started, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.place(h)
	if i < 0 {
		return
	}
	s := &r.handlers[i]
	s.State = runningPhase(h)
	s.Attempt, s.Started, s.Next = retries+1, started, time.Time{}
	s.Error, s.Took = nil, 0
	r.publish()
}

// attempted tells what has become of a call.
func (r *report) attempted(h *handlers.Handler, began time.Time, took time.Duration, out handlers.Outcome) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reporter.ran(h, began.Add(took), took, out.Final, failure(out.Err))
	i := r.place(h)
	if i < 0 {
		return
	}
	s := &r.handlers[i]
	called(s, began, took, failure(out.Err))
	switch {
	case out.Final && h.Family == handlers.Timer && out.Err == nil:
		s.State, s.Next = inspect.PhaseTicking, nextTick(h, began, took)
	case out.Final && out.Err == nil:
		s.State = inspect.PhaseDone
	case out.Final:
		s.State = inspect.PhaseFailed
	default:
		s.State = inspect.PhaseRetrying
		s.Next = began.Add(took)
		if out.Delay != nil {
			s.Next = s.Next.Add(*out.Delay)
		}
	}
	r.publish()
}

// called notes an attempt in the state of its handler.
func called(s *inspect.HandlerState, began time.Time, took time.Duration, err error) {
	var failed *inspect.HandlerError
	if err != nil {
		failed = &inspect.HandlerError{Kind: string(handlers.ErrorKindOf(err)), Message: err.Error()}
	}
	attempts := append(slices.Clone(s.Attempts), inspect.Attempt{At: began, Took: took, Error: failed})
	s.Attempts = attempts[max(0, len(attempts)-maxAttempts):]
	s.Took, s.Error = took, failed
}

// failure tells a failure from sub-handlers that are merely not done yet.
func failure(err error) error {
	var children *handlers.ChildrenRetry
	if errors.As(err, &children) {
		return nil
	}
	return err
}

// progressed takes over what the object says about its handlers.
func (r *report) progressed(state state.Progress) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range state.Handlers() {
		if i := r.index(h.ID); i >= 0 && h.Active {
			recorded(&r.handlers[i], h.Record)
		}
	}
	r.publish()
}

// applied tells that what the cycle has come to is recorded on the object, and whether
// nothing is left to do about the cause.
func (r *report) applied(finished bool, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.object.Cause == nil || !finished || !r.object.Cause.Done.IsZero() {
		return
	}
	done := *r.object.Cause
	done.Done = now
	r.object.Cause = &done
	r.publish()
}

// subProgressed puts the sub-handlers behind their parent.
func (r *report) subProgressed(parent string, state state.Progress) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.index(parent)
	for _, h := range state.Handlers() {
		i := r.index(h.ID)
		if i < 0 {
			at++
			r.handlers = slices.Insert(r.handlers, at, inspect.HandlerState{ID: h.ID, Kind: string(handlers.Sub), Parent: parent})
			i = at
		}
		recorded(&r.handlers[i], h.Record)
		at = i
	}
	r.publish()
}

func recorded(s *inspect.HandlerState, record state.Record) {
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
		s.Error = &inspect.HandlerError{Kind: string(handlers.KindArbitrary), Message: record.Message}
	}
}

func (r *report) waiting(wrote, seen string, deadline time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.object.Waiting = &inspect.Waiting{Wrote: wrote, Seen: seen, Deadline: deadline}
	r.publish()
}

func (r *report) consistent() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.object.Waiting = nil
	r.publish()
}

func (r *report) gone() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped = true
	r.reporter.drop(r.object.Ref)
}

// shortSource leaves of a file's path what tells it from others.
func shortSource(source string) string {
	return filepath.Join(filepath.Base(filepath.Dir(source)), filepath.Base(source))
}
