package engine

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// SubExecutor runs the sub-handlers that a running handler has added.
type SubExecutor interface {
	// Execute attempts the sub-handlers that are due. Its error tells that some are
	// not done yet.
	Execute(ctx context.Context) error
}

// subs are the sub-handlers of one call of a handler.
type subs struct {
	cycle    *cycle
	parent   *handlers.Handler
	registry *handlers.Subregistry
	executed bool
	refs     []string // ids of sub-handlers at any depth
}

func (c *cycle) subs(parent *handlers.Handler) *subs {
	return &subs{cycle: c, parent: parent, registry: handlers.NewSubregistry(parent)}
}

// finish executes the sub-handlers if the handler has not done it itself.
func (s *subs) finish(ctx context.Context) error {
	if s.executed || !s.registry.Set().Has(handlers.Changing) {
		return nil
	}
	return s.Execute(ctx)
}

// Execute implements [SubExecutor].
func (s *subs) Execute(ctx context.Context) error {
	s.executed = true
	c, set := s.cycle, s.registry.Set()
	owned := idsOf(set.Handlers(handlers.Changing))
	selected := set.Selected(handlers.Changing, c.cause)
	state, err := state.ReadProgress(c.seen, c.progress, owned, c.now())
	if err != nil {
		return fmt.Errorf("reading the progress of sub-handlers: %w", err)
	}
	state = state.WithPurpose(string(c.cause.Reason)).WithHandlers(idsOf(selected), c.now())
	outcomes, aborted := c.execute(ctx, selected, state)
	if aborted != nil && !c.worthRecording(aborted, outcomes) {
		return aborted
	}
	if state, err = state.WithOutcomes(outcomes, c.now()); err != nil {
		return err
	}
	if err := state.Store(c.seen, c.progress, c.marks); err != nil {
		return fmt.Errorf("recording the progress of sub-handlers: %w", err)
	}
	c.deliver(outcomes)
	s.refs = append(s.refs, owned...)
	for _, out := range outcomes {
		s.refs = append(s.refs, out.Subrefs...)
	}
	if aborted != nil {
		return aborted
	}
	c.report.subProgressed(s.parent.ID, state)
	if state.Done() {
		return nil
	}
	retry := &handlers.ChildrenRetry{}
	if delay, ok := state.Delay(c.now()); ok {
		retry.Delay = &delay
	}
	return retry
}
