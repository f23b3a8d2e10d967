// Package call runs single attempts of handlers of all families: it enforces their limits, decides their outcome and
// reports it.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
)

// Invoker runs attempts of handlers. It is safe for concurrent use.
type Invoker struct {
	now   func() time.Time
	sink  *observe.Sink
	slots chan struct{} // one slot per running handler; nil if the number of handlers is not limited
}

// NewInvoker returns an invoker. The limit is the number of handlers that run concurrently; there is no limit if it is
// not positive.
func NewInvoker(now func() time.Time, sink *observe.Sink, limit int) *Invoker {
	i := &Invoker{now: now, sink: sink}
	if limit > 0 {
		i.slots = make(chan struct{}, limit)
	}
	return i
}

// Attempt is the input of [Invoker.Try].
type Attempt struct {
	Subject *observe.Subject // subject of the reported events
	Call    *handlers.Call   // [Invoker.Try] sets the retry, the start and the runtime
	Retries int              // number of attempts before this one
	Started time.Time        // start of the first attempt; zero in the first attempt
	Backoff time.Duration    // delay after an arbitrary error, for a handler without its own
	Slot    *Slot            // slot of the object; nil if the attempt needs none
	Grace   time.Duration    // time to wait for the handler after its context has ended; no limit if zero
	Task    *daemons.Task    // running daemon or timer; nil for other handlers

	// Then runs after the handler has succeeded, as a part of the attempt. It may be nil.
	Then func(ctx context.Context) error

	Began, Ended time.Time // set by [Invoker.Try]
}

// Try attempts a handler once, unless its limits are exceeded: it calls the handler, decides the outcome, and emits it
// to the sink. It returns false if the fence forbids the start or the operator is stopping; then the attempt must not
// count.
func (i *Invoker) Try(ctx context.Context, a *Attempt) (handlers.Outcome, bool) {
	if fence.MayBegin(ctx) != nil {
		return handlers.Outcome{}, false
	}
	h, limits := a.Call.Handler, a.limits()
	exhausted, err := i.begin(a, h, limits)
	if exhausted != nil {
		return *exhausted, true
	}
	var result any
	if err == nil {
		result, err = i.call(ctx, a, limits)
		err = a.Subject.Secrets.Error(err)
	}
	if aborted(ctx, a, h, err) {
		return handlers.Outcome{}, false
	}
	return i.end(a, h, limits, result, err), true
}

func (a *Attempt) limits() handlers.Limits {
	limits := a.Call.Handler.Limits()
	limits.Backoff = cmp.Or(limits.Backoff, &a.Backoff)
	if limits.MaxBackoff != nil {
		limits.Seed = a.Call.Handler.ID
		if cause := a.Call.Cause; cause != nil { // an activity has none
			limits.Seed = cause.Object.UID + " " + limits.Seed
		}
	}
	return limits
}

// begin checks the limits of the handler. It returns an outcome if they are already exceeded.
func (i *Invoker) begin(a *Attempt, h *handlers.Handler, limits handlers.Limits) (exhausted *handlers.Outcome, err error) {
	if h.Family != handlers.Daemon {
		return i.checkLimits(a, h, limits), nil
	}
	// A daemon can run for days, so the check must not grow the daemon's stack.
	err = daemons.OnNewStack(func() error {
		exhausted = i.checkLimits(a, h, limits)
		return nil
	})
	return exhausted, err
}

func (i *Invoker) checkLimits(a *Attempt, h *handlers.Handler, limits handlers.Limits) *handlers.Outcome {
	a.Began = i.now()
	if a.Started.IsZero() {
		a.Started = a.Began
	}
	call := a.Call
	call.Retry, call.Started, call.Runtime = a.Retries, a.Started, a.Began.Sub(a.Started)
	out, line, exhausted := handlers.Precheck(limits, a.Retries, call.Runtime, h.String())
	observe.Emit(i.sink, observe.AttemptStarted{
		Subject: a.Subject, Handler: h, Retries: a.Retries, Started: a.Started, Exhausted: exhausted,
	})
	if !exhausted {
		return nil
	}
	a.Ended = a.Began
	i.emitEnded(a, observe.AttemptEnded{Handler: h, Exhausted: true, Outcome: out, Line: line})
	return &out
}

// call calls the handler, checks a result that will be stored on the object, and calls Then. It clears a.Call first, because
// daemons keep their attempts for long.
func (i *Invoker) call(ctx context.Context, a *Attempt, limits handlers.Limits) (any, error) {
	call := a.Call
	a.Call = nil
	if cause := call.Cause; cause != nil { // an activity has none
		ctx = planning.WithAuthor(ctx, call.Handler.ID, cause.Object.UID, call.Retry+1)
	}
	result, err := i.callInSlot(ctx, call, a.Slot, limits, a.Grace)
	if group := call.Handler.Family.Group(); err == nil && result != nil && (group == handlers.Changing || group == handlers.Spawning) {
		object := a.Subject.Object
		if a.Task != nil {
			object = a.Task.Live()
		}
		err = checkResult(len(object.Raw), result)
	}
	if err == nil && a.Then != nil {
		err = a.Then(ctx)
	}
	return result, err
}

// Slot is one object's place among the concurrent handlers. A sub-handler uses the slot of its parent, because the
// parent waits for the sub-handler.
type Slot struct{ held bool }

func (i *Invoker) callInSlot(ctx context.Context, call *handlers.Call, s *Slot, limits handlers.Limits, grace time.Duration) (any, error) {
	if s == nil || s.held || i.slots == nil {
		return callWithTimeout(ctx, call, limits, grace)
	}
	select {
	case i.slots <- struct{}{}:
		s.held = true
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() {
		s.held = false
		<-i.slots
	}()
	if fence.MayBegin(ctx) != nil { // the right to act can end while the attempt waits for its slot
		return nil, core.ErrStopping
	}
	return callWithTimeout(ctx, call, limits, grace)
}

// callWithTimeout calls the handler with the remaining total time, and with the time limit of one attempt.
func callWithTimeout(ctx context.Context, call *handlers.Call, limits handlers.Limits, grace time.Duration) (result any, err error) {
	var cancel context.CancelFunc
	if limits.Timeout != nil {
		ctx, cancel = context.WithTimeoutCause(ctx, *limits.Timeout-call.Runtime, handlers.ErrTimeout)
		defer cancel()
	}
	if one := call.Handler.AttemptTimeout; one != nil {
		ctx, cancel = context.WithTimeoutCause(ctx, *one, handlers.ErrAttemptTimeout)
		defer cancel()
	}
	if grace > 0 {
		result, err = invokeUntilAbandoned(ctx, call, grace)
	} else {
		result, err = invoke(ctx, call)
	}
	// The handler has timed out, even if its error does not wrap the cause of the context's end.
	for _, limit := range []error{handlers.ErrTimeout, handlers.ErrAttemptTimeout} {
		if err != nil && errors.Is(context.Cause(ctx), limit) && !errors.Is(err, limit) {
			err = fmt.Errorf("%w: %w", limit, err)
		}
	}
	return result, err
}

var errAbandoned = errors.New("ignores that its context has ended; abandoning it")

// invokeUntilAbandoned calls the handler, and stops waiting for it when the grace period after the end of its context is
// over.
func invokeUntilAbandoned(ctx context.Context, call *handlers.Call, grace time.Duration) (any, error) {
	var result any
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = invoke(ctx, call)
	}()
	patience, cancel := core.WithGrace(ctx, grace)
	defer cancel()
	select {
	case <-ended:
		return result, err
	case <-patience.Done():
		return nil, handlers.AsPermanent(fmt.Errorf("%s %w", call.Handler, errAbandoned))
	}
}

// invoke calls the handler and returns its panic as an error. The handler runs in a separate goroutine, because it may
// end the goroutine, as FailNow of a test does: the object's worker must continue, and the attempt must count. A daemon
// runs in the daemon's goroutine, and may end it.
func invoke(ctx context.Context, call *handlers.Call) (result any, err error) {
	defer func() { err = handlers.Readable(err) }()
	if call.Handler.Family == handlers.Daemon {
		defer core.RecoverPanic(&err)
		return call.Handler.Invoke(ctx, call)
	}
	err = daemons.OnNewStack(func() (err error) {
		result, err = call.Handler.Invoke(ctx, call)
		return err
	})
	return result, err
}

// aborted reports whether the attempt must not count, because the operator stopped or lost the right to act during the attempt, or
// before the sub-handlers of the handler could start. The next operator repeats the attempt.
func aborted(ctx context.Context, a *Attempt, h *handlers.Handler, err error) bool {
	switch h.Family.Group() {
	case handlers.Changing, handlers.Reconciling:
		return err != nil && (ctx.Err() != nil || core.IsFenced(err))
	case handlers.Watching:
		return core.IsFenced(err)
	case handlers.Spawning:
		return core.IsFenced(err) && (a.Task == nil || a.Task.Reason() == 0) // otherwise, it ends as it was asked to
	case handlers.Indexing, handlers.Activities:
		return ctx.Err() != nil
	default:
		return false
	}
}

func (i *Invoker) end(a *Attempt, h *handlers.Handler, limits handlers.Limits, result any, err error) handlers.Outcome {
	a.Ended = i.now()
	if a.Task != nil && a.Task.Reason() != 0 && isStop(err) {
		out, line := handlers.Outcome{Final: true}, handlers.LogLine{Level: slog.LevelDebug, Message: h.String() + " is cancelled."}
		i.emitEnded(a, observe.AttemptEnded{Handler: h, Cancelled: true, Outcome: out, Line: line})
		return out
	}
	out, line := handlers.Decide(err, result, limits, a.Retries, a.Ended.Sub(a.Started), h.String())
	switch h.Family.Group() {
	case handlers.Changing, handlers.Reconciling:
		out = planned(out, a.Retries+1)
	case handlers.Admission:
		out.Final, out.Delay = true, nil // a review has one response, so there is no retry
		if handlers.ErrorKindOf(err) == handlers.KindAdmission {
			line = handlers.LogLine{Level: slog.LevelInfo, Message: h.String() + " denied the request: " + handlers.ErrorText(err)}
		}
	}
	i.emitEnded(a, observe.AttemptEnded{Handler: h, Outcome: out, Err: err, Line: line})
	return out
}

// planned returns the outcome without a delay for a plan. A handler that waits for its sub-handlers has their delay already.
func planned(out handlers.Outcome, attempt int) handlers.Outcome {
	if _, subs := errors.AsType[*handlers.ChildrenRetry](out.Err); subs || out.Final || out.Waits && out.Delay == nil {
		return out
	}
	if out.Waits { // a repeated call would wait again
		attempt = planning.Calls
	}
	out.Delay = planning.Delay(attempt, out.Delay)
	return out
}

// isStop reports whether a daemon or a timer returned because its context ended, or because the operator may not act now.
func isStop(err error) bool {
	_, stopped := errors.AsType[daemons.Reason](err)
	return stopped || errors.Is(err, context.Canceled) || core.IsFenced(err)
}

func (i *Invoker) emitEnded(a *Attempt, e observe.AttemptEnded) {
	e.Subject, e.Retries, e.Started, e.Began, e.Took = a.Subject, a.Retries, a.Started, a.Began, a.Ended.Sub(a.Began)
	observe.Emit(i.sink, e)
}

// maxObjectSize is etcd's default limit for the size of an object, in bytes.
const maxObjectSize = 3 << 19

// checkResult returns a permanent error for a result that makes an object of this size too large. The API server would
// reject each patch with the result, and with it all other changes in the patch.
func checkResult(size int, result any) error {
	text, err := patch.Body(result)
	if err != nil || size+len(text) <= maxObjectSize {
		return err
	}
	return handlers.AsPermanent(fmt.Errorf("the result has %d bytes of JSON, and the object has %d; they must not exceed %d together: "+
		"store the result elsewhere, and leave a reference to it", len(text), size, maxObjectSize))
}
