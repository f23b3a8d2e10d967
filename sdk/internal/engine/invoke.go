package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// invoker attempts handlers. It is safe for concurrent use.
type invoker struct {
	now      func() time.Time
	reporter *reporter
	meters   *meters
	slots    chan struct{} // one for each handler that runs; nil if their number is not limited
}

// newInvoker makes an invoker of at most so many handlers at the same time; 0 is no limit.
func newInvoker(now func() time.Time, limit int, r *reporter, m *meters) *invoker {
	i := &invoker{now: now, reporter: r, meters: m}
	if limit > 0 {
		i.slots = make(chan struct{}, limit)
	}
	return i
}

// attempt is what a family of handlers hands to [invoker.try].
type attempt struct {
	call    *handlers.Call // [invoker.try] adds the retry, the start and the runtime
	retries int            // attempts before this one
	started time.Time      // when the first attempt began; zero if this is the first
	backoff time.Duration  // after arbitrary errors, if the handler has none of its own

	logger   *slog.Logger
	failures *Recorder     // posts failures as Kubernetes events; nil if they are not posted
	report   *report       // nil if the attempt is not of an object's own handler
	slot     *slot         // nil if the attempt needs none
	task     *daemons.Task // of a daemon or a timer, else nil

	// then runs after the handler has succeeded, as a part of the attempt. Optional.
	then func(ctx context.Context) error

	began, ended time.Time // set by [invoker.try]
}

// try attempts a handler once, unless its limits are exceeded: it calls the handler, concludes the
// outcome, and logs and reports it. It returns false if the operator is stopping and the attempt
// must not count.
func (i *invoker) try(ctx context.Context, a *attempt) (handlers.Outcome, bool) {
	h, limits := a.call.Handler, a.limits()
	exceeded, err := i.begin(ctx, a, h, limits)
	if exceeded != nil {
		return *exceeded, true
	}
	var result any
	if err == nil {
		result, err = i.call(ctx, a, limits)
	}
	if aborted(ctx, h, err) {
		return handlers.Outcome{}, false
	}
	return i.end(ctx, a, h, limits, result, err), true
}

func (a *attempt) limits() handlers.Limits {
	limits := a.call.Handler.Limits()
	if limits.Backoff == nil {
		limits.Backoff = &a.backoff
	}
	return limits
}

// begin announces the attempt. It returns an outcome if the limits of the handler are exceeded
// already.
func (i *invoker) begin(ctx context.Context, a *attempt, h *handlers.Handler, limits handlers.Limits) (exceeded *handlers.Outcome, err error) {
	if h.Family != handlers.Daemon {
		return i.announce(ctx, a, h, limits), nil
	}
	// A daemon can run for days: nothing of the beginning is left on its stack.
	err = daemons.OnNewStack(func() error {
		exceeded = i.announce(ctx, a, h, limits)
		return nil
	})
	return exceeded, err
}

func (i *invoker) announce(ctx context.Context, a *attempt, h *handlers.Handler, limits handlers.Limits) *handlers.Outcome {
	a.began = i.now()
	if a.started.IsZero() {
		a.started = a.began
	}
	call := a.call
	call.Retry, call.Started, call.Runtime = a.retries, a.started, a.began.Sub(a.started)
	if a.logger.Enabled(ctx, slog.LevelDebug) {
		a.logger.Debug(h.String() + " is invoked.")
	}
	if out, line, exceeded := handlers.Precheck(limits, a.retries, call.Runtime, h.String()); exceeded {
		a.ended = a.began
		a.log(ctx, line, nil)
		i.meters.givenUp(h)
		i.tell(a, h, out)
		return &out
	}
	a.report.attempting(h, a.retries, a.started, a.began)
	return nil
}

// call calls the handler, and what belongs to it. The call itself is dropped when it begins, since
// daemons keep their attempts for long.
func (i *invoker) call(ctx context.Context, a *attempt, limits handlers.Limits) (any, error) {
	call := a.call
	a.call = nil
	result, err := i.callInSlot(ctx, call, a.slot, limits)
	if err == nil && a.then != nil {
		err = a.then(ctx)
	}
	return result, err
}

func (i *invoker) callInSlot(ctx context.Context, call *handlers.Call, s *slot, limits handlers.Limits) (any, error) {
	if s == nil || s.held || i.slots == nil {
		return callWithTimeout(ctx, call, limits)
	}
	if err := i.acquire(ctx, s); err != nil {
		return nil, err
	}
	defer i.release(s)
	return callWithTimeout(ctx, call, limits)
}

// callWithTimeout calls the handler with what is left of its time. A panic becomes an error.
func callWithTimeout(ctx context.Context, call *handlers.Call, limits handlers.Limits) (result any, err error) {
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
	defer recoverPanic(&err)
	return call.Handler.Invoke(ctx, call)
}

// aborted reports whether the stop of the operator has interrupted an attempt, so that the next
// operator makes it again.
func aborted(ctx context.Context, h *handlers.Handler, err error) bool {
	switch h.Family.Group() {
	case handlers.Changing:
		return err != nil && ctx.Err() != nil
	case handlers.Indexing, handlers.Activities:
		return ctx.Err() != nil
	default:
		return false
	}
}

// end concludes the outcome, logs it, and reports it.
func (i *invoker) end(ctx context.Context, a *attempt, h *handlers.Handler, limits handlers.Limits, result any, err error) handlers.Outcome {
	a.ended = i.now()
	var out handlers.Outcome
	if a.task != nil && a.task.Reason() != 0 && stopped(err) {
		a.logger.Debug(h.String() + " is cancelled.")
		out, err = handlers.Outcome{Final: true}, nil
	} else {
		var line handlers.LogLine
		out, line = handlers.Decide(err, result, limits, a.retries, a.ended.Sub(a.started), h.String())
		if err == nil && h.Family == handlers.Index {
			line.Level = slog.LevelDebug // indexing succeeds for each version of each object
		}
		a.log(ctx, line, err)
	}
	i.meters.attempted(h, a.ended.Sub(a.began), out, err)
	i.tell(a, h, out)
	return out
}

// stopped reports whether a daemon or a timer has ended because its context has.
func stopped(err error) bool {
	var reason daemons.Reason
	return errors.Is(err, context.Canceled) || errors.As(err, &reason)
}

// tell tells the inspector of the outcome.
func (i *invoker) tell(a *attempt, h *handlers.Handler, out handlers.Outcome) {
	switch h.Family.Group() {
	case handlers.Indexing, handlers.Activities:
		i.reporter.ran(h, a.ended, a.ended.Sub(a.began), out.Final, out.Err)
	default:
		a.report.attempted(h, a.began, a.ended.Sub(a.began), out)
	}
}

// log logs what the attempt came to, and posts it if it is a failure.
func (a *attempt) log(ctx context.Context, line handlers.LogLine, err error) {
	if line.Level >= slog.LevelWarn {
		a.failures.Record(line.Level, kindOf(line.Level), loggingReason, line.Message)
	}
	var panicked *handlers.PanicError
	if errors.As(err, &panicked) {
		a.logger.Log(ctx, line.Level, line.Message, stackKey, string(panicked.Stack))
		return
	}
	a.logger.Log(ctx, line.Level, line.Message)
}

// slot is the place of one object among the handlers that run at the same time. A sub-handler
// that its parent executes runs in the parent's slot, or the parent would wait for itself.
type slot struct{ held bool }

func (i *invoker) acquire(ctx context.Context, s *slot) error {
	select {
	case i.slots <- struct{}{}:
		s.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *invoker) release(s *slot) {
	s.held = false
	<-i.slots
}

// Attributes of log lines.
const (
	handlerKey = "handler" // the id of the handler that logs
	stackKey   = "stack"   // where a panic happened
)

// recoverPanic is deferred around functions of users, so that a panic becomes an error: handlers,
// but also filters, storages, lifecycles and transformations.
func recoverPanic(err *error) {
	if value := recover(); value != nil {
		*err = &handlers.PanicError{Value: value, Stack: debug.Stack()}
	}
}

// errorAttrs returns the attributes of a log line about an error, with the stack of a panic.
func errorAttrs(err error) []any {
	attrs := []any{"error", err}
	var panicked *handlers.PanicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, stackKey, string(panicked.Stack))
	}
	return attrs
}
