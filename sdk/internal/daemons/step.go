package daemons

import (
	"context"
	"math"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// A task makes one step after the other: each is a call of its handler, or a look whether
// it is time for one. A step has a goroutine; the wait between two steps has none.

// progress is how far the handler has come since its last success. It is in memory only:
// the next operator begins anew.
type progress struct {
	begun   bool // the handler was called ever
	retries int
	started time.Time
}

// wait is what a task waits for ahead of its next step.
type wait struct {
	delay time.Duration
	since time.Time // the wait begins; of changes, those after this time count
	early occasion  // what can end the delay
}

// occasion is what makes a task go on ahead of time.
type occasion int

const (
	nothing occasion = iota
	aHurry           // somebody wishes that what has failed is tried again now
	aChange          // of the essence of the object
)

// forever is the delay of those who wait for an occasion alone.
const forever = time.Duration(math.MaxInt64)

// begin makes the task wait for its first step.
func (t *Task) begin(delay time.Duration) {
	if !t.await(wait{delay: max(delay, t.restless())}) {
		t.end()
	}
}

// run makes a step, and waits for the next one.
func (t *Task) run() {
	var next wait
	goesOn := false
	defer func() { // also if the handler has ended the goroutine
		if !goesOn || !t.await(next) {
			t.end()
		}
	}()
	if !t.stopped() {
		next, goesOn = t.step()
	}
}

// await schedules the next step. It is false if the task was asked to end meanwhile.
func (t *Task) await(w wait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped() { // who asks it later finds the timer
		return false
	}
	if w.early == aHurry && t.hurried {
		w.delay = 0
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	t.hurried, t.waits = false, w
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
	if w.early == aChange && t.group.idleSince().After(w.since) {
		t.proceed() // it has changed while that was scheduled
	}
	return true
}

// Due tells when the task makes its next step, as things are now. There is no such time
// while it makes one, or waits for a change of the object.
func (t *Task) Due() (due time.Time, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil || t.waits.early == aChange {
		return time.Time{}, false
	}
	left := max(time.Until(t.waits.since.Add(t.waits.delay)), t.restless())
	return time.Now().Add(left), true
}

// proceed makes the next step at once if the task waits for it. It is called with the
// lock held.
func (t *Task) proceed() {
	if t.rouse() {
		go t.run()
	}
}

// rouse ends the wait of the task. It is false if there is none, or if it is over anyway:
// whoever ends it makes the next step, and nobody else. It is called with the lock held.
func (t *Task) rouse() bool {
	if t.timer == nil || !t.timer.Stop() {
		return false
	}
	t.timer = nil
	return true
}

// wake makes a task go on that waits for an occasion.
func (t *Task) wake(on occasion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits.early == on {
		t.proceed()
	}
}

// hurry makes a task that has failed try again at once, also if it is still busy with
// its failure.
func (t *Task) hurry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.hurried = true
	} else if t.waits.early == aHurry {
		t.proceed()
	}
}

// interrupt ends a task that was asked to end and does nothing but wait.
func (t *Task) interrupt() {
	t.mu.Lock()
	waiting := t.rouse()
	t.mu.Unlock()
	if waiting {
		t.end()
	}
}

// step calls the handler if it is time to, and tells what to wait for then. It is false if
// there is nothing more to be done.
func (t *Task) step() (next wait, goesOn bool) {
	if left := t.restless(); left > 0 {
		return wait{delay: left}, true
	}
	began := time.Now()
	switch out := t.attempt(); {
	case !out.Final && out.Delay == nil:
		return wait{}, true
	case !out.Final:
		return wait{delay: *out.Delay, early: aHurry}, true
	case t.Handler.Family != handlers.Timer || out.Err != nil:
		return wait{}, false
	}
	t.progress.retries = 0 // each tick counts its own attempts
	return t.untilNextTick(began)
}

// attempt calls the handler once, and delivers what came of it.
func (t *Task) attempt() handlers.Outcome {
	if t.progress.retries == 0 {
		t.progress.begun, t.progress.started = true, time.Now()
	}
	ctx, cancel := context.WithCancelCause(t.group.ctx)
	defer t.cancelWith(nil)
	t.cancelWith(cancel)
	if t.stopper.reached(cancelled) {
		cancel(t.cause())
	}
	out := t.group.host.Attempt(ctx, t, t.progress.retries, t.progress.started)
	t.progress.retries++
	t.mu.Lock()
	t.hurried = false // that was for what is over
	t.mu.Unlock()
	t.group.host.Deliver(ctx, t, out)
	return out
}

// cancelWith sets how to cancel the attempt; what was cancelled that way before is over.
func (t *Task) cancelWith(cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel(nil)
	}
	t.cancel = cancel
}

// cancelOnce cancels the context of the handler. The cause is the reason of the stop. It
// tells whether that was not done before.
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
