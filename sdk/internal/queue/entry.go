package queue

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// state is the progress of an object through the queue.
type state int

const (
	idle    state = iota // about to change its state, or to be dropped
	ready                // queued in the list of ready entries
	running              // a worker processes the object or runs its functions of [Queue.Between]
	waiting              // the delay of a [Next] is running
	held                 // behind a closed gate
)

// entry is an object in the queue. It is guarded by the lock of the queue.
type entry struct {
	key      Key
	state    state
	events   []watch.Event // events since the last batch; only the newest unless the resource keeps all
	listed   bool          // an event since the last batch came from a list
	complete uint64        // the greatest [watch.Event.Complete] since the last batch

	newest   watch.Event // version to process if there are no events; zero if unknown
	bodiless bool        // newest has only the identity of the object
	again    bool        // process the object even without events

	between []func(context.Context) // functions of [Queue.Between], called before the next processing

	scheduled *Next     // the [Next] whose delay is running
	end       time.Time // end of the delay
	timer     *time.Timer
	kept      *Next // the [Next] that functions of [Queue.Between] interrupted; scheduled after them unless an event arrives

	gate *Gate // holds the object while closed; nil if there is none

	next *entry // next entry in the ready list
}

// fold adds an event.
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

func (e *entry) clear() { e.events, e.listed, e.complete = nil, false, 0 }

// fifo is a list of entries, linked through the entries themselves to save allocations.
type fifo struct {
	head, tail *entry
	len        int
}

func (f *fifo) push(e *entry) {
	if f.tail == nil {
		f.head = e
	} else {
		f.tail.next = e
	}
	f.tail = e
	f.len++
}

func (f *fifo) pushFirst(e *entry) {
	if e.next = f.head; f.head == nil {
		f.tail = e
	}
	f.head = e
	f.len++
}

func (f *fifo) pop() *entry {
	e := f.head
	if e == nil {
		return nil
	}
	if f.head = e.next; f.head == nil {
		f.tail = nil
	}
	e.next = nil
	f.len--
	return e
}
