package queue

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// state is where an object is in its way through the queue.
type state int

const (
	idle    state = iota // about to change its state, or to be dropped
	ready                // is in the list of ready entries
	running              // being processed
	waiting              // the delay of a [Next] is running
	held                 // behind a closed gate
)

// entry is an object in the queue. It is guarded by the lock of the queue.
type entry struct {
	key      Key
	state    state
	events   []watch.Event // since the last batch; only the newest if not all are kept
	listed   bool          // one of them was of a listing
	complete uint64        // the greatest [watch.Event.Complete] of them

	newest   watch.Event // version being processed, or to be processed again; else none
	bodiless bool        // it has only the identity of the object
	again    bool        // process it even without events

	between []func(context.Context) // called before the next processing: see [Queue.Between]

	scheduled *Next     // the [Next] whose delay is running
	end       time.Time // end of the delay
	timer     *time.Timer
	kept      *Next // the [Next] to schedule again after the functions in between, unless there are events; else nil

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
