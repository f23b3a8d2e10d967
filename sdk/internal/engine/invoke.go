package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// invoker attempts handlers. It is safe for concurrent use.
type invoker struct {
	now   func() time.Time
	sink  *observe.Sink
	slots chan struct{} // one for each handler that runs; nil if their number is not limited
}

// newInvoker returns an invoker of at most so many handlers at the same time. If the limit is not
// positive, there is none.
func newInvoker(now func() time.Time, sink *observe.Sink, limit int) *invoker {
	i := &invoker{now: now, sink: sink}
	if limit > 0 {
		i.slots = make(chan struct{}, limit)
	}
	return i
}

// attempt is what a family of handlers hands to [invoker.try].
type attempt struct {
	subject *observe.Subject // whom the attempt is about
	call    *handlers.Call   // [invoker.try] adds the retry, the start and the runtime
	retries int              // attempts before this one
	started time.Time        // when the first attempt began; zero if this is the first
	backoff time.Duration    // after arbitrary errors, if the handler has none of its own
	slot    *slot            // nil if the attempt needs none
	grace   time.Duration    // how long to wait after the handler's context has ended; no limit if zero
	task    *daemons.Task    // of a daemon or a timer, else nil

	// then runs after the handler has succeeded, as a part of the attempt. Optional.
	then func(ctx context.Context) error

	began, ended time.Time // set by [invoker.try]
}

// try attempts a handler once, unless its limits are exceeded: it calls the handler, decides the outcome, and emits
// it to the sink. It returns false, and the attempt must not count, if the fence forbids to begin or the operator is
// stopping.
func (i *invoker) try(ctx context.Context, a *attempt) (handlers.Outcome, bool) {
	if fence.MayBegin(ctx) != nil {
		return handlers.Outcome{}, false
	}
	h, limits := a.call.Handler, a.limits()
	exhausted, err := i.begin(a, h, limits)
	if exhausted != nil {
		return *exhausted, true
	}
	var result any
	if err == nil {
		result, err = i.call(ctx, a, limits)
		err = a.subject.Secrets.Error(err)
	}
	if aborted(ctx, h, err) {
		return handlers.Outcome{}, false
	}
	return i.end(a, h, limits, result, err), true
}

func (a *attempt) limits() handlers.Limits {
	limits := a.call.Handler.Limits()
	if limits.Backoff == nil {
		limits.Backoff = &a.backoff
	}
	return limits
}

// begin begins the attempt. It returns an outcome if the limits of the handler are exceeded already.
func (i *invoker) begin(a *attempt, h *handlers.Handler, limits handlers.Limits) (exhausted *handlers.Outcome, err error) {
	if h.Family != handlers.Daemon {
		return i.checkLimits(a, h, limits), nil
	}
	// A daemon can run for days: nothing of the beginning is left on its stack.
	err = daemons.OnNewStack(func() error {
		exhausted = i.checkLimits(a, h, limits)
		return nil
	})
	return exhausted, err
}

func (i *invoker) checkLimits(a *attempt, h *handlers.Handler, limits handlers.Limits) *handlers.Outcome {
	a.began = i.now()
	if a.started.IsZero() {
		a.started = a.began
	}
	call := a.call
	call.Retry, call.Started, call.Runtime = a.retries, a.started, a.began.Sub(a.started)
	out, line, exhausted := handlers.Precheck(limits, a.retries, call.Runtime, h.String())
	observe.Tell(i.sink, observe.AttemptStarted{
		Subject: a.subject, Handler: h, Retries: a.retries, Started: a.started, Began: a.began, Exhausted: exhausted,
	})
	if !exhausted {
		return nil
	}
	a.ended = a.began
	i.tellEnded(a, observe.AttemptEnded{Handler: h, Exhausted: true, Outcome: out, Line: line})
	return &out
}

// call calls the handler, and what belongs to it. The call itself is dropped when it begins, since
// daemons keep their attempts for long.
func (i *invoker) call(ctx context.Context, a *attempt, limits handlers.Limits) (any, error) {
	call := a.call
	a.call = nil
	h := call.Handler
	result, err := i.callInSlot(ctx, call, a.slot, limits, a.grace)
	if err == nil {
		err = a.checkResult(h, result)
	}
	if err == nil && a.then != nil {
		err = a.then(ctx)
	}
	return result, err
}

// checkResult checks a result that is to be stored on the object.
func (a *attempt) checkResult(h *handlers.Handler, result any) error {
	switch group := h.Family.Group(); {
	case result == nil || group != handlers.Changing && group != handlers.Spawning:
		return nil
	case a.task != nil:
		return checkResult(len(a.task.Live().Raw), result)
	default:
		return checkResult(len(a.subject.Object.Raw), result)
	}
}

func (i *invoker) callInSlot(ctx context.Context, call *handlers.Call, s *slot, limits handlers.Limits, grace time.Duration) (any, error) {
	if s == nil || s.held || i.slots == nil {
		return callWithTimeout(ctx, call, limits, grace)
	}
	if err := i.acquire(ctx, s); err != nil {
		return nil, err
	}
	defer i.release(s)
	return callWithTimeout(ctx, call, limits, grace)
}

// callWithTimeout calls the handler with the rest of its total time, and with the time of one attempt.
func callWithTimeout(ctx context.Context, call *handlers.Call, limits handlers.Limits, grace time.Duration) (result any, err error) {
	limited := ctx
	if limits.Timeout != nil {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(limited, *limits.Timeout-call.Runtime, handlers.ErrTimeout)
		defer cancel()
	}
	if one := call.Handler.AttemptTimeout; one != nil {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(limited, *one, handlers.ErrAttemptTimeout)
		defer cancel()
	}
	defer func() {
		// Whatever the handler made of the end of its context, it has timed out.
		for _, limit := range []error{handlers.ErrTimeout, handlers.ErrAttemptTimeout} {
			if err != nil && errors.Is(context.Cause(limited), limit) && !errors.Is(err, limit) {
				err = fmt.Errorf("%w: %w", limit, err)
			}
		}
	}()
	ctx = limited
	if grace > 0 {
		return invokeUntilAbandoned(ctx, call, grace)
	}
	return invoke(ctx, call)
}

// errAbandoned is wrapped by the error of a handler that ignored the end of its context.
var errAbandoned = errors.New("ignores that its context has ended; abandoning it")

// invokeUntilAbandoned calls the handler, but does not wait for it for longer than the grace period after
// its context has ended.
func invokeUntilAbandoned(ctx context.Context, call *handlers.Call, grace time.Duration) (any, error) {
	type ending struct {
		result any
		err    error
	}
	ended := make(chan ending, 1)
	go func() {
		result, err := invoke(ctx, call)
		ended <- ending{result, err}
	}()
	select {
	case e := <-ended:
		return e.result, e.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case e := <-ended:
		return e.result, e.err
	case <-timer.C:
		return nil, handlers.AsPermanent(fmt.Errorf("%s %w", call.Handler, errAbandoned))
	}
}

// invoke calls the handler in a goroutine of its own, in case the handler ends it, as FailNow of a test
// does: the worker of the object must go on, and the attempt must count. A daemon is in one already,
// which ends the daemon. A panic becomes an error.
func invoke(ctx context.Context, call *handlers.Call) (result any, err error) {
	defer func() { err = handlers.Readable(err) }()
	if call.Handler.Family == handlers.Daemon {
		defer recoverPanic(&err)
		return call.Handler.Invoke(ctx, call)
	}
	err = daemons.OnNewStack(func() (err error) {
		result, err = call.Handler.Invoke(ctx, call)
		return err
	})
	return result, err
}

// aborted reports whether the stop of the operator has interrupted an attempt, so that the next
// operator makes it again, or whether its sub-handlers may not begin.
func aborted(ctx context.Context, h *handlers.Handler, err error) bool {
	switch h.Family.Group() {
	case handlers.Changing:
		return err != nil && (ctx.Err() != nil || errors.Is(err, errStopping))
	case handlers.Indexing, handlers.Activities:
		return ctx.Err() != nil
	default:
		return false
	}
}

// end decides the outcome.
func (i *invoker) end(a *attempt, h *handlers.Handler, limits handlers.Limits, result any, err error) handlers.Outcome {
	a.ended = i.now()
	if a.task != nil && a.task.Reason() != 0 && isStop(err) {
		out, line := handlers.Outcome{Final: true}, handlers.LogLine{Level: slog.LevelDebug, Message: h.String() + " is cancelled."}
		i.tellEnded(a, observe.AttemptEnded{Handler: h, Cancelled: true, Outcome: out, Line: line})
		return out
	}
	out, line := handlers.Decide(err, result, limits, a.retries, a.ended.Sub(a.started), h.String())
	if h.Family.Group() == handlers.Admission {
		out.Final, out.Delay = true, nil // nobody can be asked again
		if handlers.ErrorKindOf(err) == handlers.KindAdmission {
			line = handlers.LogLine{Level: slog.LevelInfo, Message: h.String() + " denied the request: " + handlers.ErrorText(err)}
		}
	}
	i.tellEnded(a, observe.AttemptEnded{Handler: h, Outcome: out, Err: err, Line: line})
	return out
}

// isStop reports whether a daemon or a timer returned because its context has ended.
func isStop(err error) bool {
	var reason daemons.Reason
	return errors.Is(err, context.Canceled) || errors.As(err, &reason)
}

func (i *invoker) tellEnded(a *attempt, e observe.AttemptEnded) {
	e.Subject, e.Retries, e.Started, e.Began, e.Took = a.subject, a.retries, a.started, a.began, a.ended.Sub(a.began)
	observe.Tell(i.sink, e)
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
