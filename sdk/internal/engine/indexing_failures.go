package engine

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// indexFailures are what is remembered of one object: the indices that it is kept out of, by
// their ids, since their functions have failed. What succeeds is not remembered.
type indexFailures map[string]indexFailure

// indexFailure is an index that an object is kept out of.
type indexFailure struct {
	Started time.Time // the first attempt in the row
	Retries int       // attempts in the row
	Until   time.Time // when the next attempt may be made
	Delayed bool      // the next attempt waits for a delay, and not just for the next event
	Final   bool      // there is no next attempt
}

// Excluded tells whether the function is not to be called now.
func (f indexFailure) Excluded(now time.Time) bool { return f.Final || now.Before(f.Until) }

// Note remembers what an attempt came to that began at a time and has ended now.
func (f indexFailures) Note(id string, out handlers.Outcome, began, now time.Time) {
	if out.Final && out.Err == nil {
		delete(f, id)
		return
	}
	failure, again := f[id]
	if !again {
		failure.Started = began
	}
	failure.Retries++
	failure.Final, failure.Until, failure.Delayed = out.Final, now, false
	if out.Delay != nil && *out.Delay > 0 {
		failure.Until, failure.Delayed = now.Add(*out.Delay), true
	}
	f[id] = failure
}

// Next tells when the next attempt is due, if there is any that waits for a time. Indices that
// are not wanted do not count: the object may not match their filters any more.
func (f indexFailures) Next(wanted func(id string) bool) (due time.Time, waiting bool) {
	for id, failure := range f {
		if !failure.Final && failure.Delayed && wanted(id) && (!waiting || failure.Until.Before(due)) {
			due, waiting = failure.Until, true
		}
	}
	return due, waiting
}
