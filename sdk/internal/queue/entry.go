package queue

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// state is where an object is. All is guarded by the queue's lock.
type state int

const (
	idle    state = iota // about to be something else, or to be forgotten
	ready                // in the row for a worker
	running              // a worker is at it
	waiting              // a timer goes for it
	held                 // behind a gate
)

// entry is what is known of an object that has something to do.
type entry struct {
	key    Key
	state  state
	events []watch.Event // since the last batch; only the newest if not all are kept
	listed bool          // one of them was of a listing
	folded int           // events that were replaced by newer ones

	newest watch.Event // the version in work, or to be worked on again; else none
	again  bool        // it is to be worked on even without events

	due   *Later // what to do when a worker comes, if there are no events
	later *Later // what to do when the timer ends
	timer *time.Timer

	pressure chan struct{} // of the batch in work; nil if nobody asked
	pressed  bool

	gate *Gate // that it must not pass while it is closed; nil if there is none

	next *entry // in the row
}

// fold adds an event.
func (e *entry) fold(event watch.Event, keep bool) {
	if !keep && len(e.events) > 0 {
		e.events[0] = event
		e.folded++
	} else {
		e.events = append(e.events, event)
	}
	if event.Type == watch.Listed {
		e.listed = true
	}
}

// press tells the worker that something newer is there.
func (e *entry) press() {
	if e.pressed {
		return
	}
	e.pressed = true
	if e.pressure != nil {
		close(e.pressure)
	}
}

func (e *entry) clear() { e.events, e.listed, e.folded = nil, false, 0 }

// fifo is a row of entries. It is linked through them, as most objects stand in it once
// and shortly.
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
