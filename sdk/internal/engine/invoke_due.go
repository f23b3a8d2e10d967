package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// invokeDue attempts the handlers that are due and that the lifecycle chooses, each with its
// sub-handlers. Together with an error, it returns the outcomes so far.
func (c *cycle) invokeDue(ctx context.Context, hs []*handlers.Handler, progress state.Progress) (map[string]handlers.Outcome, error) {
	due := make([]handlers.Due, 0, len(hs))
	for _, h := range hs {
		one, ok := progress.Handler(h.ID)
		if ok && (one.Awakened(c.deps.now()) || c.retry.calls(h.ID) && !one.Finished()) {
			due = append(due, handlers.Due{ID: h.ID, Retries: one.Record.Retries})
		}
	}
	outcomes := make(map[string]handlers.Outcome, 1)
	if len(due) == 0 {
		return outcomes, nil
	}
	chosen, err := choose(c.deps.settings.Lifecycle, due)
	if err != nil {
		return nil, err
	}
	for _, one := range chosen {
		i := slices.IndexFunc(hs, func(h *handlers.Handler) bool { return h.ID == one.ID })
		left := c.retryLeft
		c.retryLeft = false
		out, err := c.invokeChangeHandler(ctx, hs[i], progress)
		if err != nil {
			return outcomes, err
		}
		outcomes[one.ID] = out
		if !c.retryLeft { // by its sub-handlers
			c.retry.noteCalled(one.ID)
		}
		c.retryLeft = c.retryLeft || left
	}
	c.retryLeft = c.retryLeft || slices.ContainsFunc(due, func(d handlers.Due) bool { return c.retry.calls(d.ID) })
	return outcomes, nil
}

// invokeChangeHandler attempts a handler together with its sub-handlers.
func (c *cycle) invokeChangeHandler(ctx context.Context, h *handlers.Handler, progress state.Progress) (handlers.Outcome, error) {
	one, ok := progress.Handler(h.ID)
	if !ok {
		return handlers.Outcome{}, &state.UnknownHandlerError{IDs: []string{h.ID}}
	}
	subs := c.newSubhandlers(h)
	a := c.newAttempt(c.subject, h, c.cause)
	a.retries, a.started = one.Record.Retries, one.Record.Started
	a.call.Sub, a.call.ExecuteSubs, a.then = subs.registry, subs.execute, subs.executeRemaining
	out, counts := c.invoker.try(ctx, a)
	if !counts {
		return handlers.Outcome{}, errStopping
	}
	out.Subrefs = subs.refs
	return out, nil
}

// worthRecording reports whether handlers were called before the operator was asked to stop.
func (c *cycle) worthRecording(err error, outcomes map[string]handlers.Outcome) bool {
	return errors.Is(err, errStopping) && (len(outcomes) > 0 || !c.writes.own.Empty())
}

// deliverResults puts the results of handlers into the status.
func (c *cycle) deliverResults(outcomes map[string]handlers.Outcome) {
	if err := state.DeliverResults(outcomes, c.writes.handlers); err != nil {
		c.logger.Error("Cannot store a result in the status; discarding it", observe.EventKey, observe.LogResultRejected, "error", err)
	}
}

// noteOutcomes notes which handlers the patches of the cycle are about.
func (c *cycle) noteOutcomes(outcomes map[string]handlers.Outcome) {
	c.writes.about = append(c.writes.about, object.SortedKeys(outcomes)...)
	for id, out := range outcomes {
		if out.Final {
			c.done = append(c.done, id)
		}
	}
}

// subhandlers are the sub-handlers of one call of a handler.
type subhandlers struct {
	cycle    *cycle
	parent   *handlers.Handler
	registry *handlers.Subregistry
	executed bool
	refs     []string // ids of the sub-handlers at all depths
}

func (c *cycle) newSubhandlers(parent *handlers.Handler) *subhandlers {
	return &subhandlers{cycle: c, parent: parent, registry: handlers.NewSubregistry(parent)}
}

// executeRemaining executes the sub-handlers if the handler did not do it itself.
func (s *subhandlers) executeRemaining(ctx context.Context) error {
	if s.executed || !s.registry.Set().Has(handlers.Changing) {
		return nil
	}
	return s.execute(ctx)
}

// execute attempts the sub-handlers that are due. It returns an error if some are not done yet.
func (s *subhandlers) execute(ctx context.Context) error {
	s.executed = true
	c, set := s.cycle, s.registry.Set()
	ids := idsOf(set.Handlers(handlers.Changing))
	selected := slices.Clone(set.Selected(handlers.Changing, c.cause))
	selected = slices.DeleteFunc(selected, func(h *handlers.Handler) bool { return c.again.done(h.ID) })
	progress, err := c.progressOf(ids)
	if err != nil {
		return fmt.Errorf("read the progress of sub-handlers: %w", err)
	}
	progress = progress.WithPurpose(string(c.cause.Reason)).WithHandlers(idsOf(selected), c.deps.now())
	outcomes, stopping := c.invokeDue(ctx, selected, progress)
	if stopping != nil && !c.worthRecording(stopping, outcomes) {
		return stopping
	}
	if progress, err = progress.WithOutcomes(outcomes, c.deps.now()); err != nil {
		return err
	}
	if err := progress.Store(c.stored, c.progress, c.writes.own); err != nil {
		return fmt.Errorf("record the progress of sub-handlers: %w", err)
	}
	c.keepSubRecords(progress)
	c.deliverResults(outcomes)
	c.noteOutcomes(outcomes)
	s.refs = append(s.refs, ids...)
	for _, out := range outcomes {
		s.refs = append(s.refs, out.Subrefs...)
	}
	if stopping != nil {
		return stopping
	}
	observe.Tell(c.deps.sink, observe.Recorded{Subject: c.subject, Cause: c.cause, Parent: s.parent.ID, Progress: progress})
	if progress.Done() {
		return nil
	}
	retry := &handlers.ChildrenRetry{}
	if delay, ok := progress.Delay(c.deps.now()); ok {
		retry.Delay = &delay
	}
	return retry
}

// keepSubRecords keeps the records of sub-handlers until it is known which handlers have failed.
func (c *cycle) keepSubRecords(progress state.Progress) {
	for _, h := range progress.Handlers() {
		if c.subRecords == nil {
			c.subRecords = make(map[string]state.Record)
		}
		c.subRecords[h.ID] = h.Record
	}
}
