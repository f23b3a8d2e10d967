package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Batch is the pending work for an object.
type Batch struct {
	Key Key

	// Events are the events since the previous batch, oldest first; only the newest unless all are
	// kept for the resource.
	Events []watch.Event

	// Newest is the last of the events. Without events, the object is processed again, with the Newest of the
	// previous batch. The processor may replace it by a newer version.
	Newest watch.Event

	// Listed reports whether any event since the previous batch was of a list, even if it was not
	// kept.
	Listed bool

	// Complete is the greatest of [watch.Event.Complete] of the events since the previous batch, even if
	// they were not kept.
	Complete uint64

	// Requeued reports whether the object is to be processed again, whether or not there are events.
	Requeued bool

	// Bodiless reports whether Newest has only the identity of the object: its content was not kept.
	Bodiless bool

	queue *Queue
	entry *entry
}

// Ended reports whether the object is known to be deleted by now. Another object may have its name.
func (b *Batch) Ended() bool {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	n := len(b.entry.events)
	return n > 0 && b.entry.events[n-1].Type == watch.Deleted
}
