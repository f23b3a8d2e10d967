package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/lifecycle"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
)

// errAborted is the error of a cycle in which the operator was told to stop: nothing
// of the interrupted attempt is recorded, and the next operator makes it again.
var errAborted = errors.New("the operator stops")

// execute attempts the handlers that are due and that the lifecycle chooses. With an error,
// there are the outcomes of those before it.
func (c *cycle) execute(ctx context.Context, handlers []*handler.Handler, state progress.State) (map[string]outcome.Outcome, error) {
	due := make([]lifecycle.Due, 0, len(handlers))
	for _, h := range handlers {
		one, ok := state.Handler(h.ID)
		if ok && (one.Awakened(c.now()) || c.hurry && !one.Finished()) {
			due = append(due, lifecycle.Due{ID: h.ID, Retries: one.Record.Retries})
		}
	}
	outcomes := make(map[string]outcome.Outcome, 1)
	if len(due) == 0 {
		return outcomes, nil
	}
	selected, err := c.choose(due)
	if err != nil {
		return nil, err
	}
	for _, chosen := range selected {
		i := slices.IndexFunc(handlers, func(h *handler.Handler) bool { return h.ID == chosen.ID })
		out, err := c.attempt(ctx, handlers[i], state)
		if err != nil {
			return outcomes, err
		}
		outcomes[chosen.ID] = out
	}
	return outcomes, nil
}

// attempt calls a handler once, unless its limits forbid it, and tells what it came to.
func (c *cycle) attempt(ctx context.Context, h *handler.Handler, state progress.State) (outcome.Outcome, error) {
	began := c.now()
	one, ok := state.Handler(h.ID)
	if !ok {
		return outcome.Outcome{}, &progress.UnknownError{IDs: []string{h.ID}}
	}
	retries, started := one.Record.Retries, one.Record.Started
	limits := c.limits(h)
	c.logInvocation(h)
	if out, line, exceeded := outcome.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		c.logOutcome(ctx, line, nil)
		c.meters.givenUp(h)
		c.report.attempted(h, began, 0, out)
		return out, nil
	}
	call := &handler.Call{
		Cause: c.cause, Handler: h,
		Patch: c.patch, Memo: c.memory.memo, Logger: c.logger.With(handlerKey, h.ID), Recorder: c.recorder,
		Retry: retries, Started: started, Runtime: began.Sub(started),
	}
	subs := c.subs(h)
	call.Sub, call.Extra = subs.registry, subs
	c.report.attempting(h, retries, started, began)
	result, err := c.invoke(ctx, call, limits)
	if err == nil {
		err = subs.finish(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return outcome.Outcome{}, errAborted
	}
	ended := c.now()
	out, line := outcome.Decide(err, result, limits, retries, ended.Sub(started), h.String())
	out.Subrefs = subs.refs
	c.logOutcome(ctx, line, err)
	c.meters.attempted(h, ended.Sub(began), out, err)
	c.report.attempted(h, began, ended.Sub(began), out)
	return out, nil
}

// observe calls a handler of raw events. Whatever it comes to is logged and forgotten.
func (c *cycle) observe(ctx context.Context, h *handler.Handler, cause *handler.Cause) {
	began := c.now()
	limits := c.limits(h)
	c.logInvocation(h)
	call := &handler.Call{
		Cause: cause, Handler: h, Patch: c.patch, Memo: c.memory.memo, Logger: c.logger.With(handlerKey, h.ID),
		Recorder: c.recorder, Started: began,
	}
	c.report.attempting(h, 0, began, began)
	result, err := c.invoke(ctx, call, limits)
	took := c.now().Sub(began)
	out, line := outcome.Decide(err, result, limits, 0, took, h.String())
	c.logOutcome(ctx, line, err)
	c.meters.attempted(h, took, out, err)
	c.report.attempted(h, began, took, out)
}

// invoke calls the user's function when it may run.
func (c *cycle) invoke(ctx context.Context, call *handler.Call, limits outcome.Limits) (any, error) {
	leave, err := c.slot(ctx, call.Handler)
	if err != nil {
		return nil, err
	}
	defer leave()
	return invoke(ctx, call, limits)
}

// invoke calls the user's function with what is left of its time.
func invoke(ctx context.Context, call *handler.Call, limits outcome.Limits) (result any, err error) {
	if limits.Timeout != nil {
		limited, cancel := context.WithTimeoutCause(ctx, *limits.Timeout-call.Runtime, outcome.ErrTimeout)
		defer cancel()
		defer func() {
			// Whatever the handler made of the end of its context, it has timed out.
			if err != nil && errors.Is(context.Cause(limited), outcome.ErrTimeout) && !errors.Is(err, outcome.ErrTimeout) {
				err = fmt.Errorf("%w: %w", outcome.ErrTimeout, err)
			}
		}()
		ctx = limited
	}
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &outcome.Panic{Value: value, Stack: debug.Stack()}
		}
	}()
	return call.Handler.Invoke(ctx, call)
}

func (c *cycle) limits(h *handler.Handler) outcome.Limits {
	return limitsOf(h, c.settings.DefaultBackoff)
}

func limitsOf(h *handler.Handler, backoff time.Duration) outcome.Limits {
	limits := h.Limits()
	if limits.Backoff == nil {
		limits.Backoff = &backoff
	}
	return limits
}

// handlerKey is the attribute of log lines that a handler wrote.
const handlerKey = "handler"

// stackKey is the attribute of where a handler has panicked.
const stackKey = "stack"

// debugging tells whether it is worth putting words together that are read only when
// something is looked for.
func (c *cycle) debugging() bool { return c.logger.Enabled(context.Background(), slog.LevelDebug) }

func (c *cycle) logInvocation(h *handler.Handler) {
	if c.debugging() {
		c.logger.Debug(h.String() + " is invoked.")
	}
}

func (c *cycle) logOutcome(ctx context.Context, line outcome.LogLine, err error) {
	c.recordOutcome(line)
	logOutcome(ctx, c.logger, line, err)
}

func logOutcome(ctx context.Context, logger *slog.Logger, line outcome.LogLine, err error) {
	var panicked *outcome.Panic
	if errors.As(err, &panicked) {
		logger.Log(ctx, line.Level, line.Message, stackKey, string(panicked.Stack))
		return
	}
	logger.Log(ctx, line.Level, line.Message)
}
