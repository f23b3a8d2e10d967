package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Batch is what a worker has to do for an object.
type Batch struct {
	Key Key

	// Events are all events since the previous batch, oldest first, if all are kept for
	// this resource; else just the newest.
	Events []watch.Event

	// Newest is the last of the events, or the newest version known before if there are
	// none: the object is worked on again.
	Newest watch.Event

	// Listed tells if any of the events since the previous batch was of a listing, though
	// the newest may be another, or they are not kept.
	Listed bool

	// Folded is how many events were replaced by newer ones before anybody saw them.
	Folded int

	queue  *Queue
	entry  *entry
	worker *worker
}

// Pressure is closed when there is something newer for the object: it is time to stop
// waiting for anything, since the next batch is there.
func (b *Batch) Pressure() <-chan struct{} {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	if b.entry.pressure == nil {
		b.entry.pressure = make(chan struct{})
		if b.entry.pressed {
			close(b.entry.pressure)
		}
	}
	return b.entry.pressure
}

// Ended tells if the object is known to be deleted by now. What is still to be done for it
// could hit another one of the same name.
func (b *Batch) Ended() bool {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	n := len(b.entry.events)
	return n > 0 && b.entry.events[n-1].Type == watch.Deleted
}

// Yield says that the worker is going to wait for long, so that another one may start in
// its place at once. The work goes on as usual.
func (b *Batch) Yield() {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.queue.elastic.release(b.worker)
	b.queue.dispatch()
}
