package indexing

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// failedObject is an object for which indexing functions have failed.
type failedObject struct {
	failures indexFailures

	event watch.Event // the newest version
	timer *time.Timer // of the next retry; nil if none is scheduled
}

// cancelRetry cancels the scheduled retry, if any.
func (f *failedObject) cancelRetry() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.event = watch.Event{}
}

// reported returns the failures as subscribers of events get them.
func (f *failedObject) reported() map[string]observe.IndexFailure {
	if f == nil {
		return nil
	}
	all := make(map[string]observe.IndexFailure, len(f.failures))
	for id, failure := range f.failures {
		all[id] = observe.IndexFailure{Final: failure.Final, Until: failure.Until}
	}
	return all
}

// indexFailures are the failures of one object by the IDs of the indices. As long as a handler fails,
// the object is excluded from its index.
type indexFailures map[string]indexFailure

// indexFailure is a series of failed attempts to index an object.
type indexFailure struct {
	Started time.Time // the first attempt
	Retries int       // attempts so far
	Until   time.Time // when the next attempt may be made
	Delayed bool      // the next attempt is made when the delay is over, and not only at the next event
	Final   bool      // there is no next attempt
}

// excluded reports whether the handler must not be called now.
func (f indexFailure) excluded(now time.Time) bool { return f.Final || now.Before(f.Until) }

// record records the outcome of an attempt. A success ends the series.
func (f indexFailures) record(id string, out handlers.Outcome, began, ended time.Time) {
	if out.Final && out.Err == nil {
		delete(f, id)
		return
	}
	failure, again := f[id]
	if !again {
		failure.Started = began
	}
	failure.Retries++
	failure.Final, failure.Until, failure.Delayed = out.Final, ended, false
	if out.Delay != nil && *out.Delay > 0 {
		failure.Until, failure.Delayed = ended.Add(*out.Delay), true
	}
	f[id] = failure
}

// next returns when the next retry is due, if any is delayed. Only wanted indices count: the object
// may have stopped matching the filters of others.
func (f indexFailures) next(wanted func(id string) bool) (due time.Time, waiting bool) {
	for id, failure := range f {
		if !failure.Final && failure.Delayed && wanted(id) && (!waiting || failure.Until.Before(due)) {
			due, waiting = failure.Until, true
		}
	}
	return due, waiting
}
