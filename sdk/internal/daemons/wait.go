package daemons

import (
	"math"
	"time"
)

// wait describes the wait of a task for its next step.
type wait struct {
	delay  time.Duration
	since  time.Time  // start of the wait; changes after this time end it
	wakeOn wakeReason // event that ends the delay early
}

// wakeReason is an event that ends the delay of a task early.
type wakeReason int

const (
	wakeOnNothing  wakeReason = iota
	wakeOnRetryNow            // a request to retry failed handlers at once
	wakeOnChange              // a change of the object's essence
	wakeOnSlot                // a free slot for the call
)

// noDelayEnds is the delay of tasks that only wait to be woken.
const noDelayEnds = time.Duration(math.MaxInt64)

// await schedules the next step. It returns false if the task was asked to stop during the current step.
func (t *Task) await(w wait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped() { // a request after this check stops the timer
		return false
	}
	if w.wakeOn == wakeOnRetryNow && t.retryRequested {
		w.delay = 0
	}
	if w.wakeOn == wakeOnSlot && t.hasSlot {
		w.delay = 0
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	t.retryRequested, t.hasSlot, t.waits = false, false, w
	if w.delay <= 0 {
		go t.run()
		return true
	}
	t.timer = time.AfterFunc(w.delay, func() {
		t.mu.Lock()
		t.timer = nil
		t.mu.Unlock()
		t.run()
	})
	if w.wakeOn == wakeOnChange && t.group.idleSince().After(w.since) {
		t.proceed() // the object changed while the step was being scheduled
	}
	return true
}

// Due returns the time of the task's next step. It returns false during a step, and if the task waits for a change of the
// object.
func (t *Task) Due() (due time.Time, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil || t.waits.wakeOn == wakeOnChange || t.waits.wakeOn == wakeOnSlot {
		return time.Time{}, false
	}
	left := max(time.Until(t.waits.since.Add(t.waits.delay)), t.untilIdle())
	return time.Now().Add(left), true
}

// proceed takes the next step at once if the task waits for it. The lock must be held.
func (t *Task) proceed() {
	if t.endWait() {
		go t.run()
	}
}

// endWait ends the wait of the task; then the caller must take the next step. It returns false if the task does not wait or
// its wait has just ended. The lock must be held.
func (t *Task) endWait() bool {
	if t.timer == nil || !t.timer.Stop() {
		return false
	}
	t.timer = nil
	return true
}

// wake takes the next step at once if the task can be woken for the reason.
func (t *Task) wake(reason wakeReason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits.wakeOn == reason {
		t.proceed()
	}
}

// getsSlot takes the next step of a task that waits for a slot.
func (t *Task) getsSlot() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.hasSlot = true // the wait is still being scheduled
	} else if t.waits.wakeOn == wakeOnSlot {
		t.proceed()
	}
}

// retryNow retries the handler of a task at once if it failed. If the handler is running and fails, it is retried at once,
// too.
func (t *Task) retryNow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.retryRequested = true
	} else if t.waits.wakeOn == wakeOnRetryNow {
		t.proceed()
	}
}

// interrupt ends a task that was asked to stop if it is only waiting.
func (t *Task) interrupt() {
	t.mu.Lock()
	waiting := t.endWait()
	t.mu.Unlock()
	if waiting {
		t.end()
	}
}
