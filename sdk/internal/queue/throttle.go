package queue

import (
	"iter"
	"slices"
	"time"
)

// DefaultErrorDelays are Fibonacci numbers from a second to about ten minutes. The last delay is
// repeated for as long as the errors continue.
var DefaultErrorDelays = slices.Values([]time.Duration{
	1 * time.Second, 1 * time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second,
	8 * time.Second, 13 * time.Second, 21 * time.Second, 34 * time.Second, 55 * time.Second,
	89 * time.Second, 144 * time.Second, 233 * time.Second, 377 * time.Second, 610 * time.Second,
})

// Throttler delays the processing of one object after errors. The zero value has seen no errors. The caller waits for
// the result of Remaining before each attempt, and calls Failed or Succeeded after the attempt.
type Throttler struct {
	errors int
	until  time.Time
}

// Remaining returns the remaining delay; zero if the object may be processed now.
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

// Failed records an error and returns the delay before the next attempt; zero if there are no delays. After a success,
// the sequence of delays starts from its beginning.
func (t *Throttler) Failed(now time.Time, delays iter.Seq[time.Duration]) time.Duration {
	t.errors++
	// A kept iterator would have to be released when the object is deleted. Iterating from the start each time is cheap,
	// because the growing delays permit only few errors per day.
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

// Succeeded forgets all errors. It reports whether there were any.
func (t *Throttler) Succeeded() (recovered bool) {
	recovered = t.errors > 0
	*t = Throttler{}
	return recovered
}
