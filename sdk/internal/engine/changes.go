package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// callChangeHandlers calls the handlers of the cause that are due, and records their progress. It
// returns false if some are not done yet, or if they must see another version of the object.
func (c *cycle) callChangeHandlers(ctx context.Context) (done bool, err error) {
	if c.finalizer != finalizerUnchanged {
		c.tellPlan(observe.Planned{})
		c.changing = false
		return false, nil
	}
	if !c.changing || c.cause.Reason == handlers.ReasonDelete && c.memory.deletionHandled {
		c.tellPlan(observe.Planned{})
		return true, nil
	}
	c.handlerDelays, err = c.handleCause(ctx)
	return len(c.handlerDelays) == 0, err
}

// handleCause calls the handlers that are due, records their outcomes, and returns the delays of
// the others. There are none when all handlers are done.
func (c *cycle) handleCause(ctx context.Context) ([]time.Duration, error) {
	c.retry = c.requested
	if !c.cause.Reason.Handled() {
		c.tellPlan(observe.Planned{Begun: true})
		return nil, c.endUndone()
	}
	selected := c.selectHandlers()
	progress, superseded, err := c.readProgress(selected)
	c.tellPlan(observe.Planned{Begun: err == nil, Selected: selected, Superseded: superseded})
	if err != nil {
		return nil, err
	}
	switch {
	case len(selected) > 0:
	case c.again != nil:
		return nil, c.finishAgain()
	default:
		return nil, c.finishUnhandled(progress)
	}
	if c.retry != nil && !c.defersRetry() {
		progress = progress.Restarted(c.retry.restarts, c.deps.now())
	}

	outcomes, err := c.invokeDue(ctx, selected, progress)
	if err != nil && !c.worthRecording(err, outcomes) {
		return nil, err
	}
	if progress, err = progress.WithOutcomes(outcomes, c.deps.now()); err != nil {
		return nil, err
	}
	if err := progress.Store(c.stored, c.progress, c.writes.own); err != nil {
		return nil, fmt.Errorf("record the progress: %w", err)
	}
	c.deliverResults(outcomes)
	c.noteOutcomes(outcomes)
	done := progress.Done()
	c.rememberHandled(done)
	if done {
		if err := c.recordFailures(progress); err != nil {
			return nil, err
		}
	}
	observe.Tell(c.deps.sink, observe.Recorded{Subject: c.subject, Cause: c.cause, Progress: progress})
	if !done {
		c.memory.unfinished = true
		return progress.Delays(c.deps.now()), c.markAgain()
	}
	if err := c.purge(progress); err != nil {
		return nil, err
	}
	return nil, c.storeLastHandled()
}

// finishUnhandled ends a cause that no handler is for. Records of former handlers must not count for the
// next cause.
func (c *cycle) finishUnhandled(progress state.Progress) error {
	if len(progress.Handlers()) > 0 {
		if err := c.purge(progress); err != nil {
			return err
		}
	}
	return c.storeLastHandled()
}

// readProgress returns the progress of the cause so far. The progress of earlier causes that were
// not completed is counted by their reasons, and purged.
func (c *cycle) readProgress(selected []*handlers.Handler) (progress state.Progress, superseded map[string]state.Counts, err error) {
	if progress, err = c.progressOf(c.served.changing); err != nil {
		return progress, nil, fmt.Errorf("read the progress: %w", err)
	}
	ids := idsOf(selected)
	progress = progress.WithPurpose(string(c.cause.Reason)).WithHandlers(ids, c.deps.now())
	if superseded = progress.Extras(); len(superseded) > 0 {
		progress = progress.WithPurpose(string(c.cause.Reason), ids...)
	}
	if len(progress.Extras()) > 0 {
		if err := progress.Purge(c.stored, c.progress, c.served.changing, c.writes.own); err != nil {
			return progress, superseded, fmt.Errorf("purge the progress of a superseded cause: %w", err)
		}
	}
	return progress, superseded, nil
}
