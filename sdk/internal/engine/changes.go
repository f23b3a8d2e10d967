package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// callChangeHandlers calls the handlers of the cause that are due, and records their progress. It
// returns false if some are not done yet, or if they must see another version of the object.
func (c *cycle) callChangeHandlers(ctx context.Context) (handled bool, err error) {
	if c.finalizer != finalizerUnchanged {
		c.changing = false
		return false, nil
	}
	if !c.changing || c.cause.Reason == handlers.ReasonDelete && c.memory.deletionHandled {
		return true, nil
	}
	if fresh, err := c.awaitOwnWrite(ctx); err != nil || !fresh {
		c.changing = false
		return false, err
	}
	c.handlerDelays, err = c.handleCause(ctx)
	return len(c.handlerDelays) == 0, err
}

// handleCause calls the handlers that are due, records what came of them, and returns the delays of
// the others. There are none when all handlers are done.
func (c *cycle) handleCause(ctx context.Context) ([]time.Duration, error) {
	c.retryNow = c.memory.retryNow.Swap(false)
	if !c.cause.Reason.Handled() {
		c.deps.meters.settled(c)
		c.logUnhandled()
		return nil, nil
	}
	selected := c.served.handlers.Selected(handlers.Changing, c.cause)
	progress, err := c.readProgress(selected)
	if err != nil {
		return nil, err
	}
	c.logCause()
	if len(selected) == 0 {
		c.deps.meters.settled(c)
		return nil, c.storeLastHandled()
	}
	c.deps.meters.began(c)

	outcomes, err := c.invokeDue(ctx, selected, progress)
	if err != nil && !c.worthRecording(err, outcomes) {
		return nil, err
	}
	if progress, err = progress.WithOutcomes(outcomes, c.deps.now()); err != nil {
		return nil, err
	}
	if err := progress.Store(c.stored, c.progress, c.own); err != nil {
		return nil, fmt.Errorf("record the progress: %w", err)
	}
	c.deliverResults(outcomes)
	c.report.progressed(progress)
	c.deps.meters.progressed(c, progress)
	if !progress.Done() {
		return progress.Delays(c.deps.now()), nil
	}
	counts := progress.Counts()
	c.logger.Info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.", capitalized(c.cause.Reason.Title()), counts.Success, counts.Failure))
	if err := progress.Purge(c.stored, c.progress, c.served.changing, c.own); err != nil {
		return nil, fmt.Errorf("purge the progress: %w", err)
	}
	return nil, c.storeLastHandled()
}

// logUnhandled logs a reason that no handlers are for.
func (c *cycle) logUnhandled() {
	switch c.cause.Reason {
	case handlers.ReasonGone:
		c.logger.Debug("Deleted, really deleted, and we are notified.")
	case handlers.ReasonFree:
		c.logger.Debug("Deletion, but we are done with it, and we do not care.")
	default:
		c.logger.Debug("Something has changed, but we are not interested (the essence is the same).")
	}
}

func (c *cycle) logCause() {
	if !c.logger.Enabled(context.Background(), slog.LevelDebug) {
		return // saves the formatting
	}
	title := capitalized(c.cause.Reason.Title())
	c.logger.Debug(title+" is in progress", "version", c.object.ResourceVersion)
	if c.cause.Old != nil && len(c.cause.Diff) > 0 {
		c.logger.Debug(title+" diff", "diff", loggedDiff(c.cause.Diff))
	}
}

// readProgress returns the progress of the cause so far. The progress of an earlier cause that was
// not completed is purged.
func (c *cycle) readProgress(selected []*handlers.Handler) (state.Progress, error) {
	progress, err := state.ReadProgress(c.stored, c.progress, c.served.changing, c.deps.now())
	if err != nil {
		return progress, fmt.Errorf("read the progress: %w", err)
	}
	title, ids := c.cause.Reason.Title(), idsOf(selected)
	progress = progress.WithPurpose(string(c.cause.Reason)).WithHandlers(ids, c.deps.now())
	for purpose, extra := range sorted(progress.Extras()) {
		superseded := handlers.Reason(purpose)
		c.logger.Info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			capitalized(superseded.Title()), title, extra.Success, extra.Failure, extra.Running))
		progress = progress.WithPurpose(string(c.cause.Reason), ids...)
	}
	if len(progress.Extras()) > 0 {
		if err := progress.Purge(c.stored, c.progress, c.served.changing, c.own); err != nil {
			return progress, fmt.Errorf("purge the progress of a superseded cause: %w", err)
		}
	}
	return progress, nil
}

// storeLastHandled records the present essence as the last-handled state.
func (c *cycle) storeLastHandled() error {
	if c.cause.New != nil && len(c.cause.Diff) > 0 || c.cause.Old == nil {
		if err := c.diffbase.Store(c.stored, c.object.Raw, c.cause.New, c.served.extraFields, c.own); err != nil {
			return fmt.Errorf("record the last-handled state: %w", err)
		}
	}
	c.finished = true
	return nil
}

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
