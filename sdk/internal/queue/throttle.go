package queue

import (
	"iter"
	"slices"
	"time"
)

// DefaultDelays are Fibonacci numbers from a second to about ten minutes. The last delay
// is repeated for as long as the errors go on.
var DefaultErrorDelays = slices.Values([]time.Duration{
	1 * time.Second, 1 * time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second,
	8 * time.Second, 13 * time.Second, 21 * time.Second, 34 * time.Second, 55 * time.Second,
	89 * time.Second, 144 * time.Second, 233 * time.Second, 377 * time.Second, 610 * time.Second,
})

// Throttler is the state of one object. The zero value has seen no errors. Its owner
// calls Remaining before each attempt, and sleeps that long; if the sleep is interrupted
// by a newer event, it asks again for the next attempt. After an attempt it calls Failed
// or Succeeded.
type Throttler struct {
	errors int
	until  time.Time
}

// Remaining is how long not to touch the object from now on; zero if it may be at once.
func (t *Throttler) Remaining(now time.Time) time.Duration {
	if t.until.IsZero() {
		return 0
	}
	left := t.until.Sub(now)
	if left <= 0 {
		t.until = time.Time{}
		return 0
	}
	return left
}

// Failed notes an error and returns how long not to touch the object from now on; zero
// if there are no delays at all. The sequence of delays begins anew after a success.
func (t *Throttler) Failed(now time.Time, delays iter.Seq[time.Duration]) time.Duration {
	t.errors++
	// The position is counted rather than kept in an iterator: nothing to release when the
	// object goes away, and the delays of a day's errors are few.
	var delay time.Duration
	position := 0
	for d := range delays {
		delay = d
		if position++; position == t.errors {
			break
		}
	}
	if delay <= 0 {
		t.until = time.Time{}
		return 0
	}
	t.until = now.Add(delay)
	return delay
}

// Succeeded forgets all errors. It reports if there had been any.
func (t *Throttler) Succeeded() (recovered bool) {
	recovered = t.errors > 0
	*t = Throttler{}
	return recovered
}
