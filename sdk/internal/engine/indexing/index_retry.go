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
	timer *time.Timer // timer of the next retry; nil if none is scheduled
}

// cancelRetry cancels the scheduled retry, if any.
func (f *failedObject) cancelRetry() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.event = watch.Event{}
}

// reported returns the failures in the format of events.
func (f *failedObject) reported() map[string]observe.IndexFailure {
	if len(f.failures) == 0 {
		return nil
	}
	all := make(map[string]observe.IndexFailure, len(f.failures))
	for id, failure := range f.failures {
		all[id] = observe.IndexFailure{Final: failure.Final, Until: failure.Until}
	}
	return all
}

// indexFailures are the failures of one object by the ids of the indices, which exclude the object meanwhile.
type indexFailures map[string]indexFailure

// indexFailure is a series of failed attempts to index an object.
type indexFailure struct {
	Started time.Time // start of the first attempt
	Retries int       // number of attempts so far
	Until   time.Time // earliest time of the next attempt
	Delayed bool      // the next attempt is made when the delay is over, not only at the next event
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

// next returns when the next delayed retry of the selected handlers is due. The object does not match the others.
func (f indexFailures) next(selected []*handlers.Handler) (due time.Time, waiting bool) {
	for _, h := range selected {
		if failure := f[h.ID]; !failure.Final && failure.Delayed && (!waiting || failure.Until.Before(due)) {
			due, waiting = failure.Until, true
		}
	}
	return due, waiting
}
