package daemons

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// A task takes one step after another. A step calls the handler, or finds that the handler is not due yet. A step has a
// goroutine; the wait between two steps has none.

// progress counts the attempts of the handler since its last success. It is not stored, so it starts from zero when the
// operator restarts.
type progress struct {
	begun   bool // the handler was called at least once
	retries int
	started time.Time
}

// begin schedules the first step.
func (t *Task) begin(delay time.Duration) {
	if !t.await(wait{delay: max(delay, t.untilIdle())}) {
		t.end()
	}
}

// run takes a step, and schedules the next one.
func (t *Task) run() {
	var next wait
	goesOn := false
	defer func() { // deferred, because the handler may end the goroutine
		if !goesOn || !t.await(next) {
			t.end()
		}
	}()
	if !t.stopped() {
		next, goesOn = t.step()
	}
}

// step calls the handler if it is due, and returns the next wait. It returns false if the task is done.
func (t *Task) step() (next wait, goesOn bool) {
	if left := t.untilIdle(); left > 0 {
		t.leaveLine()
		return wait{delay: left}, true
	}
	if t.turn != nil && !t.turn.Reserve(false) {
		t.group.host.AwaitsSlot(t)
		return wait{delay: noDelayEnds, wakeOn: wakeOnSlot}, true
	}
	began := time.Now()
	switch out, counts := t.attempt(); {
	case !counts:
		return wait{delay: notNowDelay}, true
	case !out.Final && out.Delay == nil:
		return wait{}, true
	case !out.Final:
		return wait{delay: *out.Delay, wakeOn: wakeOnRetryNow}, true
	case t.Handler.Family != handlers.Timer || out.Err != nil:
		t.failed = out.Err != nil
		return wait{}, false
	}
	t.progress.retries = 0 // each tick has its own attempts
	return t.untilNextTick(began)
}

// notNowDelay is how long a task waits if its handler may not be called now.
const notNowDelay = time.Second

// attempt calls the handler once, and delivers its patch and result. It returns false if the handler may not be
// called now.
func (t *Task) attempt() (out handlers.Outcome, counts bool) {
	if t.progress.retries == 0 {
		t.progress.begun, t.progress.started = true, time.Now()
	}
	ctx, cancel := context.WithCancelCause(t.group.host.Enter(t.group.ctx))
	defer t.cancelWith(nil)
	t.cancelWith(cancel)
	if t.stopper.reached(cancelled) {
		cancel(t.cause())
	}
	if out, counts = t.call(ctx); !counts {
		return out, false
	}
	t.progress.retries++
	t.mu.Lock()
	t.retryRequested = false // the request applied to the attempt that has just ended
	t.mu.Unlock()
	t.group.host.Deliver(ctx, t, out)
	return out, true
}

// call calls the handler once, in its slot.
func (t *Task) call(ctx context.Context) (out handlers.Outcome, counts bool) {
	if t.turn != nil {
		if !t.turn.Begin() {
			return out, false
		}
		defer t.turn.End()
	}
	return t.group.host.Attempt(ctx, t, t.progress.retries, t.progress.started)
}

func (t *Task) leaveLine() {
	if t.turn != nil {
		t.turn.Leave()
	}
}

// cancelWith sets the function that cancels the current attempt; nil at its end.
func (t *Task) cancelWith(cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel(nil)
	}
	t.cancel = cancel
}

// cancelOnce cancels the context of the handler with the reason of the stop. It returns false if the context was already
// cancelled.
func (t *Task) cancelOnce() bool {
	if !t.stopper.reach(cancelled) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel(t.cause())
	}
	return true
}
