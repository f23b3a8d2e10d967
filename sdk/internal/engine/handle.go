package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// handle calls the handlers of the cause that are due, records what became of them, and
// returns the delays until the others are. There are none when all is done.
func (c *cycle) handle(ctx context.Context) ([]time.Duration, error) {
	c.hurry = c.memory.hurry.Swap(false)
	if !c.cause.Reason.Handled() {
		c.meters.settled(c)
	}
	switch c.cause.Reason {
	case handlers.ReasonGone:
		c.logger.Debug("Deleted, really deleted, and we are notified.")
		return nil, nil
	case handlers.ReasonFree:
		c.logger.Debug("Deletion, but we are done with it, and we do not care.")
		return nil, nil
	case handlers.ReasonNoop:
		c.logger.Debug("Something has changed, but we are not interested (the essence is the same).")
		return nil, nil
	}
	title := capitalized(c.cause.Reason.Title())
	selected := c.handlers.Selected(handlers.Changing, c.cause)
	state, err := c.state(selected)
	if err != nil {
		return nil, err
	}
	if c.debugging() {
		c.logger.Debug(title+" is in progress", "version", c.object.ResourceVersion)
		if c.cause.Old != nil && len(c.cause.Diff) > 0 {
			c.logger.Debug(title+" diff", "diff", described(c.cause.Diff))
		}
	}
	if len(selected) == 0 {
		c.meters.settled(c)
		return nil, c.finish()
	}
	c.meters.began(c)

	outcomes, err := c.execute(ctx, selected, state)
	if err != nil && !c.worthRecording(err, outcomes) {
		return nil, err
	}
	if state, err = state.WithOutcomes(outcomes, c.now()); err != nil {
		return nil, err
	}
	if err := state.Store(c.seen, c.progress, c.marks); err != nil {
		return nil, fmt.Errorf("recording the progress: %w", err)
	}
	c.deliver(outcomes)
	c.report.progressed(state)
	c.meters.progressed(c, state)
	if !state.Done() {
		return state.Delays(c.now()), nil
	}
	counts := state.Counts()
	c.logger.Info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.", title, counts.Success, counts.Failure))
	if err := state.Purge(c.seen, c.progress, c.owned, c.marks); err != nil {
		return nil, fmt.Errorf("purging the progress: %w", err)
	}
	return nil, c.finish()
}

// worthRecording tells whether something was done before the operator was told to stop: it
// is recorded, so that the next operator does not do it again.
func (c *cycle) worthRecording(err error, outcomes map[string]handlers.Outcome) bool {
	return errors.Is(err, errAborted) && (len(outcomes) > 0 || !c.marks.Empty())
}

// state is the progress so far, for the cause: what belonged to an earlier one is over.
func (c *cycle) state(selected []*handlers.Handler) (state.Progress, error) {
	title := c.cause.Reason.Title()
	state, err := state.ReadProgress(c.seen, c.progress, c.owned, c.now())
	if err != nil {
		return state, fmt.Errorf("reading the progress: %w", err)
	}
	ids := idsOf(selected)
	state = state.WithPurpose(string(c.cause.Reason)).WithHandlers(ids, c.now())
	for purpose, extra := range sorted(state.Extras()) {
		superseded := handlers.Reason(purpose)
		c.logger.Info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			capitalized(superseded.Title()), title, extra.Success, extra.Failure, extra.Running))
		state = state.WithPurpose(string(c.cause.Reason), ids...)
	}
	if len(state.Extras()) > 0 {
		if err := state.Purge(c.seen, c.progress, c.owned, c.marks); err != nil {
			return state, fmt.Errorf("purging the progress of what is superseded: %w", err)
		}
	}
	return state, nil
}

// deliver puts the results on the status.
func (c *cycle) deliver(outcomes map[string]handlers.Outcome) {
	if err := state.DeliverResults(outcomes, c.patch); err != nil {
		c.logger.Error("A result cannot be stored.", "error", err)
	}
}

// finish records that the object is handled as it is now.
func (c *cycle) finish() error {
	if c.cause.New != nil && len(c.cause.Diff) > 0 || c.cause.Old == nil {
		if err := c.diffbase.Store(c.seen, c.object.Raw, c.cause.New, c.extraFields, c.marks); err != nil {
			return fmt.Errorf("recording the state as handled: %w", err)
		}
	}
	c.finished = true
	return nil
}

// sorted goes over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func idsOf(handlers []*handlers.Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
