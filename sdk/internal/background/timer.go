package background

import "time"

// tick calls the handler of a timer again and again. What it says of itself overrides
// the schedule: after an error, the next call is after the delay of the error; after a
// permanent one, there is none.
func (t *Task) tick() {
	h := t.Handler
	var p progress
	for t.awaitIdle() {
		started := time.Now()
		out := t.attempt(&p)
		if !out.Final {
			continue
		}
		if out.Err != nil {
			return
		}
		p = progress{} // each tick counts its own attempts
		switch {
		case h.Interval != nil && h.Sharp:
			// The grid is that of the start: a slow call skips the points it has missed.
			t.Sleep(*h.Interval - time.Since(started)%*h.Interval)
		case h.Interval != nil:
			t.Sleep(*h.Interval)
		case h.Idle != nil:
			t.awaitChange(started)
		default:
			return // with neither an interval nor an idle time, there is but one call
		}
	}
}

// awaitIdle waits until the object has not changed for the timer's idle time. It is false
// when the task should end.
func (t *Task) awaitIdle() bool {
	if t.Handler.Idle == nil {
		return !t.stopped()
	}
	for !t.stopped() {
		left := *t.Handler.Idle - time.Since(t.group.idleSince())
		if left <= 0 {
			return true
		}
		t.Sleep(left)
	}
	return false
}

// awaitChange waits until the object has changed since the start of the last call.
func (t *Task) awaitChange(since time.Time) {
	for {
		newer := t.Newer() // ahead of the look, so that no change is missed
		if t.group.idleSince().After(since) {
			return
		}
		select {
		case <-newer:
		case <-t.stopper.stopping:
			return
		}
	}
}
