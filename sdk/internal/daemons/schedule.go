package daemons

import "time"

// The schedule of timers. An error overrides the schedule: the next call follows after the delay of the error. After a
// permanent error, there is no next call.

// untilIdle returns how long the object must remain unchanged before the next call.
func (t *Task) untilIdle() time.Duration {
	if t.Handler.Idle == nil {
		return 0
	}
	return *t.Handler.Idle - time.Since(t.group.idleSince())
}

// untilNextTick returns the wait after a successful tick. It returns false if there are no more ticks.
func (t *Task) untilNextTick(began time.Time) (next wait, ticks bool) {
	switch h := t.Handler; {
	case h.Interval != nil && h.Sharp:
		// The interval counts from the start of the call. A slow call skips the ticks during the call.
		return wait{delay: *h.Interval - time.Since(began)%*h.Interval}, true
	case h.Interval != nil:
		return wait{delay: *h.Interval}, true
	case h.Idle != nil:
		return wait{delay: noDelayEnds, wakeOn: wakeOnChange, since: began}, true
	default:
		return wait{}, false // without an interval and an idle time, there is a single call
	}
}
