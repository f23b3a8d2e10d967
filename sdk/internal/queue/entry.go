package queue

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// state is the progress of an object through the queue.
type state uint8

const (
	idle    state = iota // about to change its state, or to be dropped
	ready                // queued in the list of ready entries
	running              // a worker processes the object or runs its functions of [Queue.Between]
	waiting              // the delay of a [Next] is running
	held                 // behind a closed gate
)

// entry is an object in the queue. It is guarded by the lock of the queue.
type entry struct {
	key Key

	state    state
	class    Class // the most urgent class of all that came since the last batch
	rest     Class // class without the last event
	origin   Class // class of the last batch
	listed   bool  // an event since the last batch came from a list
	catching bool  // the object was listed, and has to be handled for that reason
	bodiless bool  // newest has only the identity of the object
	again    bool  // process the object even without events
	slot     bool  // a slot of a limit waits for the object; false during the processing

	events   []watch.Event // events since the last batch; only the newest unless the resource keeps all
	complete uint64        // the greatest [watch.Event.Complete] since the last batch
	newest   watch.Event   // version to process if there are no events; zero if unknown

	between []func(context.Context) // functions of [Queue.Between], called before the next processing

	scheduled *Next     // the [Next] whose delay is running
	end       time.Time // end of the delay
	timer     *time.Timer
	kept      *Next // the [Next] that functions of [Queue.Between] interrupted; scheduled after them unless an event arrives

	gate *Gate // holds the object while closed; nil if there is none

	prev, next *entry        // neighbours in the line of the ready list
	since      time.Duration // time from the start of the queue until the entry came into the line
}

func newEntry(key Key) *entry { return &entry{key: key, class: nothing, rest: nothing} }

// fold adds an event, but not its class.
func (e *entry) fold(event watch.Event, keep bool) {
	if !keep && len(e.events) > 0 {
		e.events[0] = event
	} else {
		e.events = append(e.events, event)
	}
	if event.Type == watch.Listed {
		e.listed = true
		e.complete = max(e.complete, event.Complete)
	}
}

func (e *entry) clear() {
	e.events, e.listed, e.complete = nil, false, 0
	e.class, e.rest, e.slot = nothing, nothing, false
}

// classOf returns the class of an event. The operator's own writes come back as events; to take them for changes by others would
// make each object of a listing as urgent as a live one.
func (e *entry) classOf(event watch.Event) Class {
	switch {
	case event.Type == watch.Listed && (event.Object.Deleting || e.state == waiting && time.Until(e.end) < overdueAfter):
		return Due // also for a retry that was about to begin
	case event.Type == watch.Listed:
		return Listing
	case e.isEcho(event) && e.state == waiting:
		return min(e.origin, Due) // a retry is scheduled, which the event delays
	case e.isEcho(event):
		return e.origin
	}
	return Live
}

// isEcho reports whether an event has the version that the processor has made or has seen.
func (e *entry) isEcho(event watch.Event) bool {
	known := e.newest.Object
	return event.Type == watch.Modified && known != nil && known.ResourceVersion != "" && known.ResourceVersion == event.Object.ResourceVersion
}

// continued sets the class after the processing, during which the version of an echo was not known yet. If atOnce is set, the
// object keeps the class of its batch.
func (e *entry) continued(atOnce bool) {
	if n := len(e.events); n > 0 && e.isEcho(e.events[n-1]) {
		e.class = min(e.rest, e.origin)
	}
	if atOnce {
		e.class = min(e.class, e.origin)
	}
}
