package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

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
	began := c.now()
	one, ok := st.Handler(h.ID)
	if !ok {
		return handlers.Outcome{}, &state.UnknownHandlerError{IDs: []string{h.ID}}
	}
	retries, started := one.Record.Retries, one.Record.Started
	limits := c.limits(h)
	c.logInvocation(h)
	if out, line, exceeded := handlers.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		c.logOutcome(ctx, line, nil)
		c.meters.givenUp(h)
		c.report.attempted(h, began, 0, out)
		return out, nil
	}
	call := &handlers.Call{
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
		return handlers.Outcome{}, errAborted
	}
	ended := c.now()
	out, line := handlers.Decide(err, result, limits, retries, ended.Sub(started), h.String())
	out.Subrefs = subs.refs
	c.logOutcome(ctx, line, err)
	c.meters.attempted(h, ended.Sub(began), out, err)
	c.report.attempted(h, began, ended.Sub(began), out)
	return out, nil
}

// observe calls a handler of raw events. Whatever it comes to is logged and forgotten.
func (c *cycle) observe(ctx context.Context, h *handlers.Handler, cause *handlers.Cause) {
	began := c.now()
	limits := c.limits(h)
	c.logInvocation(h)
	call := &handlers.Call{
		Cause: cause, Handler: h, Patch: c.patch, Memo: c.memory.memo, Logger: c.logger.With(handlerKey, h.ID),
		Recorder: c.recorder, Started: began,
	}
	c.report.attempting(h, 0, began, began)
	result, err := c.invoke(ctx, call, limits)
	took := c.now().Sub(began)
	out, line := handlers.Decide(err, result, limits, 0, took, h.String())
	c.logOutcome(ctx, line, err)
	c.meters.attempted(h, took, out, err)
	c.report.attempted(h, began, took, out)
}

// invoke calls the user's function when it may run.
func (c *cycle) invoke(ctx context.Context, call *handlers.Call, limits handlers.Limits) (any, error) {
	leave, err := c.slot(ctx, call.Handler)
	if err != nil {
		return nil, err
	}
	defer leave()
	return invoke(ctx, call, limits)
}

// invoke calls the user's function with what is left of its time.
func invoke(ctx context.Context, call *handlers.Call, limits handlers.Limits) (result any, err error) {
	if limits.Timeout != nil {
		limited, cancel := context.WithTimeoutCause(ctx, *limits.Timeout-call.Runtime, handlers.ErrTimeout)
		defer cancel()
		defer func() {
			// Whatever the handler made of the end of its context, it has timed out.
			if err != nil && errors.Is(context.Cause(limited), handlers.ErrTimeout) && !errors.Is(err, handlers.ErrTimeout) {
				err = fmt.Errorf("%w: %w", handlers.ErrTimeout, err)
			}
		}()
		ctx = limited
	}
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &handlers.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return call.Handler.Invoke(ctx, call)
}

func (c *cycle) limits(h *handlers.Handler) handlers.Limits {
	return limitsOf(h, c.settings.DefaultBackoff)
}

func limitsOf(h *handlers.Handler, backoff time.Duration) handlers.Limits {
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

func (c *cycle) logInvocation(h *handlers.Handler) {
	if c.debugging() {
		c.logger.Debug(h.String() + " is invoked.")
	}
}

func (c *cycle) logOutcome(ctx context.Context, line handlers.LogLine, err error) {
	c.recordOutcome(line)
	logOutcome(ctx, c.logger, line, err)
}

func logOutcome(ctx context.Context, logger *slog.Logger, line handlers.LogLine, err error) {
	var panicked *handlers.PanicError
	if errors.As(err, &panicked) {
		logger.Log(ctx, line.Level, line.Message, stackKey, string(panicked.Stack))
		return
	}
	logger.Log(ctx, line.Level, line.Message)
}
