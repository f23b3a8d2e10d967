package cycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// callEventHandlers calls the event handlers for each event in turn. It logs their outcomes, and does not retry them. It
// posts no Kubernetes events, because watched objects can have very many events.
func (c *cycle) callEventHandlers(ctx context.Context) error {
	if !c.served.Handlers.Has(handlers.Watching) {
		return nil
	}
	subject := c.unpostedSubject()
	for _, event := range c.batch.Events {
		if c.deps.Settings.Selection.Labels != "" && event.Type == watch.Deleted && event.Object != c.object {
			continue // the object left the selection, and returned
		}
		tree, err := event.Object.Tree()
		if err != nil {
			return fmt.Errorf("decode the object: %w", err)
		}
		cause := &handlers.Cause{
			Resource: c.served.Resource, Object: event.Object, EventType: event.Type, Tree: tree,
			Context: ctx, Views: &handlers.Views{Memo: c.memory.Memo},
		}
		observe.Emit(c.deps.Sink, observe.EventDispatched{Subject: c.subject, Cause: cause, Handlers: c.served.Handlers})
		for _, h := range c.served.Handlers.Selected(handlers.Watching, cause) {
			if _, counts := c.invoker.Try(ctx, c.newAttempt(subject, h, cause)); !counts {
				return core.ErrStopping
			}
		}
		if event.Object != c.object {
			event.Object.DropTree()
		}
	}
	return nil
}

// callPlanned calls the due handlers of the plan. It returns an error if the operator stopped before a handler was
// called.
func (c *cycle) callPlanned(ctx context.Context, requested *memory.RetryRequest) error {
	c.calls.requested = requested
	if len(c.plan.Selected) == 0 {
		return nil
	}
	called, err := c.invokeDue(ctx, c.plan.Selected, c.plan.Progress)
	if err != nil && !c.worthRecording(err, called) {
		return err
	}
	c.calls.out.ByID = called
	c.deliver(called)
	return nil
}

// invokeDue attempts the due handlers that the lifecycle chooses, each with its sub-handlers. Together with an error, it
// returns the outcomes so far.
func (c *cycle) invokeDue(ctx context.Context, hs []*handlers.Handler, progress state.Progress) (map[string]handlers.Outcome, error) {
	awake := plan.Due(hs, progress, c.calls.requested, c.deps.Now(), c.mayBegin)
	called := make(map[string]handlers.Outcome, 1)
	if len(awake) == 0 {
		return called, nil
	}
	chosen, err := choose(c.deps.Settings.Lifecycle, awake)
	if err != nil {
		return nil, err
	}
	for _, one := range chosen {
		h := hs[slices.IndexFunc(hs, func(h *handlers.Handler) bool { return h.ID == one.ID })]
		if !c.mayBegin(h) { // an earlier handler of this cycle has taken the last slot of the shared limit
			continue
		}
		left := c.calls.left
		c.calls.left = false
		out, err := c.invokeChangeHandler(ctx, h, progress)
		if err != nil {
			return called, err
		}
		called[one.ID] = out
		if !c.calls.left { // set by the sub-handlers
			c.calls.requested.NoteCalled(one.ID)
		}
		c.calls.left = c.calls.left || left
	}
	c.calls.left = c.calls.left || slices.ContainsFunc(awake, func(d handlers.Due) bool { return c.calls.requested.Calls(d.ID) })
	return called, nil
}

// choose calls the lifecycle, and validates its choice from the due handlers.
func choose(lifecycle handlers.Lifecycle, due []handlers.Due) ([]handlers.Due, error) {
	chosen := lifecycle(slices.Clone(due))
	if len(chosen) == 0 {
		return nil, fmt.Errorf("lifecycle: none of the handlers that are due was chosen: %v", due)
	}
	for i, one := range chosen {
		same := func(d handlers.Due) bool { return d.ID == one.ID }
		switch {
		case !slices.ContainsFunc(due, same):
			return nil, fmt.Errorf("lifecycle: the chosen handler %q is not due", one.ID)
		case slices.ContainsFunc(chosen[:i], same):
			return nil, fmt.Errorf("lifecycle: the handler %q was chosen twice", one.ID)
		}
	}
	return chosen, nil
}

// invokeChangeHandler attempts a handler together with its sub-handlers.
func (c *cycle) invokeChangeHandler(ctx context.Context, h *handlers.Handler, progress state.Progress) (handlers.Outcome, error) {
	one, _ := progress.Handler(h.ID) // a due handler is known
	subs := &subhandlers{cycle: c, parent: h, registry: handlers.NewSubregistry(h)}
	a := c.newAttempt(c.subject, h, c.plan.Cause)
	a.Retries, a.Started = one.Record.Retries, one.Record.Started
	a.Call.Sub, a.Call.ExecuteSubs, a.Then = subs.registry, subs.execute, subs.executeRemaining
	a.Call.Extra = subs
	out, counts := c.try(ctx, a)
	subs.close()
	if !counts {
		if steps, _ := c.view.UsedSteps(h.ID); steps.Unstart != nil {
			steps.Unstart(ctx)
		}
		return handlers.Outcome{}, core.ErrStopping
	}
	subs.reportUnknown(out)
	out.Subrefs = subs.refs
	return out, nil
}

// worthRecording reports whether a cycle that ended because the operator stops still has outcomes to record.
func (c *cycle) worthRecording(err error, called map[string]handlers.Outcome) bool {
	return errors.Is(err, core.ErrStopping) && (len(called) > 0 || !c.writes.Own.Empty())
}

// deliver adds the results of handlers to the status, and their ids to the writes.
func (c *cycle) deliver(called map[string]handlers.Outcome) {
	if err := state.DeliverResults(called, c.writes.Handlers); err != nil {
		c.subject.Logger.Error("Cannot store a result in the status; discarding it", observe.EventKey, observe.LogResultRejected, "error", err)
	}
	c.writes.About = append(c.writes.About, object.SortedKeys(called)...)
	for id, out := range called {
		if out.Final {
			c.calls.out.Final = append(c.calls.out.Final, id)
		}
	}
}

// subhandlers are the sub-handlers of one call of a handler.
type subhandlers struct {
	cycle    *cycle
	parent   *handlers.Handler
	registry *handlers.Subregistry
	refs     []string // ids of the sub-handlers at all depths
	executed bool

	busy   bool       // a step or the sub-handlers are running
	closed bool       // the call has ended
	mu     sync.Mutex // guards busy and closed, and is held while a step is recorded
}

// enter begins a step or the execution of the sub-handlers.
func (s *subhandlers) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return handlers.AsPermanent(errStepEnded)
	case s.busy:
		return handlers.AsPermanent(errStepRuns)
	}
	s.busy = true
	return nil
}

func (s *subhandlers) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// close ends the call. It waits until the record of a step is written.
func (s *subhandlers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Turn implements [handlers.Keyed].
func (s *subhandlers) Turn(started time.Time) string {
	return s.cycle.plan.Turn(s.cycle.view, s.parent.ID, started)
}

// executeRemaining executes the sub-handlers if the handler did not execute them.
func (s *subhandlers) executeRemaining(ctx context.Context) error {
	if s.executed || !s.registry.Set().Has(handlers.Changing) {
		return nil
	}
	return s.execute(ctx)
}

// execute attempts the due sub-handlers. It returns an error if some are not done yet.
func (s *subhandlers) execute(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("sub-handlers of %s: %w", s.parent.ID, err)
	}
	defer s.leave()
	s.executed = true
	c, set := s.cycle, s.registry.Set()
	ids := core.IDsOf(set.Handlers(handlers.Changing))
	selected := slices.Clone(set.Selected(handlers.Changing, c.plan.Cause))
	selected = slices.DeleteFunc(selected, func(h *handlers.Handler) bool { return c.plan.Recall.Done(h.ID) })
	progress, err := c.view.ProgressOf(ids, c.deps.Now())
	if err != nil {
		return fmt.Errorf("sub-handlers of %s: %w", s.parent.ID, err)
	}
	progress = progress.WithPurpose(string(c.plan.Cause.Reason)).WithHandlers(core.IDsOf(selected), c.deps.Now())
	called, stopping := c.invokeDue(ctx, selected, progress)
	if stopping != nil && !c.worthRecording(stopping, called) {
		return stopping
	}
	if progress, err = progress.WithOutcomes(called, c.deps.Now()); err != nil {
		return err
	}
	if err := c.view.StoreProgress(progress, c.writes.Own); err != nil {
		return fmt.Errorf("sub-handlers of %s: %w", s.parent.ID, err)
	}
	if c.calls.out.Subs == nil {
		c.calls.out.Subs = make(map[string]state.Record)
	}
	for _, h := range progress.Handlers() { // the records are needed later, to find the failures
		c.calls.out.Subs[h.ID] = h.Record
	}
	c.deliver(called)
	s.refs = append(s.refs, ids...)
	for _, out := range called {
		s.refs = append(s.refs, out.Subrefs...)
	}
	if stopping != nil {
		return stopping
	}
	observe.Emit(c.deps.Sink, observe.Recorded{Subject: c.subject, Cause: c.plan.Cause, Parent: s.parent.ID, Progress: progress})
	if progress.Done() {
		return nil
	}
	retry := &handlers.ChildrenRetry{}
	if delay, ok := progress.Delay(c.deps.Now()); ok {
		retry.Delay = &delay
	}
	return retry
}

// mayBegin reports whether a handler has a slot or needs none. Otherwise, it stands in line, and counts as not due.
func (c *cycle) mayBegin(h *handlers.Handler) bool {
	if h.CallLimit == nil || c.deps.Limits.Reserve(c.key(), h, c.subject) {
		return true
	}
	if parked := &c.calls.out.Parked; !slices.Contains(*parked, h.ID) {
		*parked = append(*parked, h.ID)
	}
	return false
}

// try makes an attempt, in the slot of the handler if its calls are limited. It returns false if the attempt must not count.
func (c *cycle) try(ctx context.Context, a *call.Attempt) (handlers.Outcome, bool) {
	if h := a.Call.Handler; h.CallLimit != nil {
		end, ok := c.deps.Limits.Begin(c.key(), h)
		if !ok {
			return handlers.Outcome{}, false
		}
		defer end()
	}
	return c.invoker.Try(ctx, a)
}
