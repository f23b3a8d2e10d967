package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Batch is the pending work for an object.
type Batch struct {
	Key Key

	// Events are the events since the previous batch, oldest first; only the newest unless [Options].KeepEvents keeps
	// all events of the resource.
	Events []watch.Event

	// Newest is the last of the events; without events, the Newest of the previous batch. The processor may replace it
	// by a newer version.
	Newest watch.Event

	// Listed reports whether any event since the previous batch came from a list, even if the event was not kept.
	Listed bool

	// Complete is the greatest [watch.Event.Complete] since the previous batch, including events that were not kept.
	Complete uint64

	// Requeued reports whether the object was requeued or its delay is over. There may be events, too.
	Requeued bool

	// Bodiless reports whether Newest has only the identity of the object, because the content was not kept.
	Bodiless bool

	queue *Queue
	entry *entry
}

// Ended reports whether the newest queued event is the deletion of the object. Another object may have its name.
func (b *Batch) Ended() bool {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	n := len(b.entry.events)
	return n > 0 && b.entry.events[n-1].Type == watch.Deleted
}
