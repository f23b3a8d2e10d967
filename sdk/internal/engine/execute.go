package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// errAborted is the error of a cycle in which the operator was told to stop: nothing
// of the interrupted attempt is recorded, and the next operator makes it again.
var errAborted = errors.New("the operator stops")

// execute attempts the handlers that are due and that the lifecycle chooses. With an error,
// there are the outcomes of those before it.
func (c *cycle) execute(ctx context.Context, hs []*handlers.Handler, state state.Progress) (map[string]handlers.Outcome, error) {
	due := make([]handlers.Due, 0, len(hs))
	for _, h := range hs {
		one, ok := state.Handler(h.ID)
		if ok && (one.Awakened(c.now()) || c.hurry && !one.Finished()) {
			due = append(due, handlers.Due{ID: h.ID, Retries: one.Record.Retries})
		}
	}
	outcomes := make(map[string]handlers.Outcome, 1)
	if len(due) == 0 {
		return outcomes, nil
	}
	selected, err := c.choose(due)
	if err != nil {
		return nil, err
	}
	for _, chosen := range selected {
		i := slices.IndexFunc(hs, func(h *handlers.Handler) bool { return h.ID == chosen.ID })
		out, err := c.attempt(ctx, hs[i], state)
		if err != nil {
			return outcomes, err
		}
		outcomes[chosen.ID] = out
	}
	return outcomes, nil
}

// attempt calls a handler once, unless its limits forbid it, and tells what it came to.
func (c *cycle) attempt(ctx context.Context, h *handlers.Handler, st state.Progress) (handlers.Outcome, error) {
	one, ok := st.Handler(h.ID)
	if !ok {
		return handlers.Outcome{}, &state.UnknownHandlerError{IDs: []string{h.ID}}
	}
	subs := c.subs(h)
	a := c.newAttempt(h, c.cause)
	a.retries, a.started = one.Record.Retries, one.Record.Started
	a.call.Sub, a.call.Extra, a.then = subs.registry, subs, subs.finish
	out, counts := c.invoker.try(ctx, a)
	if !counts {
		return handlers.Outcome{}, errAborted
	}
	out.Subrefs = subs.refs
	return out, nil
}

// observe calls a handler of raw events. Whatever it comes to is logged and forgotten.
func (c *cycle) observe(ctx context.Context, h *handlers.Handler, cause *handlers.Cause) {
	c.invoker.try(ctx, c.newAttempt(h, cause))
}

// newAttempt prepares an attempt at a handler of the object.
func (c *cycle) newAttempt(h *handlers.Handler, cause *handlers.Cause) *attempt {
	a := &attempt{
		call: &handlers.Call{
			Cause: cause, Handler: h, Patch: c.patch, Memo: c.memory.memo,
			Logger: c.logger.With(handlerKey, h.ID), Recorder: c.recorder,
		},
		backoff: c.settings.DefaultBackoff, logger: c.logger, report: c.report, slot: &c.slot,
	}
	if !c.settings.Posting.Loggers { // else what is logged is posted
		a.failures = c.recorder
	}
	return a
}

// debugging tells whether it is worth putting words together that are read only when
// something is looked for.
func (c *cycle) debugging() bool { return c.logger.Enabled(context.Background(), slog.LevelDebug) }
