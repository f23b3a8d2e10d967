package daemons

import "time"

// The schedule of timers. What a call says of itself overrides it: after an error, the next
// call is after the delay of the error; after a permanent one, there is none.

// restless is how long the object must not change before the next tick.
func (t *Task) restless() time.Duration {
	if t.Handler.Idle == nil {
		return 0
	}
	return *t.Handler.Idle - time.Since(t.group.idleSince())
}

// untilNextTick is what to wait for after a tick that has succeeded. There is none to
// come if it is false.
func (t *Task) untilNextTick(began time.Time) (next wait, ticks bool) {
	switch h := t.Handler; {
	case h.Interval != nil && h.Sharp:
		// The grid is that of the start: a slow call skips the points it has missed.
		return wait{delay: *h.Interval - time.Since(began)%*h.Interval}, true
	case h.Interval != nil:
		return wait{delay: *h.Interval}, true
	case h.Idle != nil:
		return wait{delay: forever, early: aChange, since: began}, true
	default:
		return wait{}, false // with neither an interval nor an idle time, there is but one call
	}
}
