package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Batch is the pending work for an object.
type Batch struct {
	Key Key

	// Events are the events since the previous batch, oldest first; only the newest unless all are
	// kept for the resource.
	Events []watch.Event

	// Newest is the last of the events. If there are none, the object is processed again, and Newest
	// is that of the previous batch.
	Newest watch.Event

	// Listed reports whether any event since the previous batch was of a list, even if it was not
	// kept.
	Listed bool

	// Complete is the greatest of [watch.Event.Complete] of the events since the previous batch, even if
	// they were not kept.
	Complete uint64

	// Folded is the number of events since the previous batch that were replaced by newer ones.
	Folded int

	queue  *Queue
	entry  *entry
	worker *worker
}

// Pressure returns a channel that closes when a newer event of the object arrives, or the object is
// requeued. The processor should stop waiting then: the next batch is ready.
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

// Ended reports whether the object is known to be deleted by now. Another object may have its name.
func (b *Batch) Ended() bool {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	n := len(b.entry.events)
	return n > 0 && b.entry.events[n-1].Type == watch.Deleted
}

// Yield announces that the processor is going to wait for long, so that another worker may start in
// its place.
func (b *Batch) Yield() {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.queue.scaling.release(b.worker)
	b.queue.dispatch()
}
