package daemons

import "time"

// The schedule of timers. An error overrides it: the next call is after the delay of the error, and
// after a permanent error there is none.

// untilIdle returns how long the object must remain unchanged before the next call.
func (t *Task) untilIdle() time.Duration {
	if t.Handler.Idle == nil {
		return 0
	}
	return *t.Handler.Idle - time.Since(t.group.idleSince())
}

// untilNextTick returns what to wait for after a successful tick. It returns false if there is no
// other tick.
func (t *Task) untilNextTick(began time.Time) (next wait, ticks bool) {
	switch h := t.Handler; {
	case h.Interval != nil && h.Sharp:
		// The ticks are counted from the start of the call: a slow call skips those that it missed.
		return wait{delay: *h.Interval - time.Since(began)%*h.Interval}, true
	case h.Interval != nil:
		return wait{delay: *h.Interval}, true
	case h.Idle != nil:
		return wait{delay: noDelayEnds, wakeOn: wakeOnChange, since: began}, true
	default:
		return wait{}, false // with neither an interval nor an idle time, there is a single call
	}
}
