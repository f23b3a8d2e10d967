package queue

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// DefaultExitTimeout is how long work in progress may go on after the end.
const DefaultExitTimeout = 2 * time.Second

// Key identifies an object among those of all resources.
type Key struct {
	Resource string // the resource's key
	Object   string // the uid, or the namespace and name of objects without one
}

// KeyOf is the key of an object of a resource.
func KeyOf(resource string, object *object.Object) Key {
	if object.UID != "" {
		return Key{resource, object.UID}
	}
	return Key{resource, object.Namespace + "/" + object.Name}
}

// Later is something to do for an object after a while, unless an event comes first:
// then it is forgotten, as whoever gets that event will decide anew.
type Later struct {
	After time.Duration

	// Do is what to do. If it is nil, the object is worked on again, in its newest version.
	// It may return what to do next, in the same way.
	Do func(ctx context.Context) *Later
}

// Processor works on an object. The context is cancelled when the time to exit is over.
// It returns what to do later, or nil.
type Processor func(ctx context.Context, batch *Batch) *Later

// Options of a queue.
type Options struct {
	// Process works on one object at a time, and on different objects in parallel.
	Process Processor

	// KeepEvents tells if all events of a resource are to be kept, and not only the newest
	// one of each object. Optional.
	KeepEvents func(resource string) bool

	// WorkerLimit is the most workers at the same time, sleeping ones included. No limit if
	// not positive: then new ones start as fast as the others get on, see elastic.
	WorkerLimit int

	// ExitTimeout is how long work in progress may go on after [Queue.Stop]. Default: 2
	// seconds. Negative: none.
	ExitTimeout time.Duration
}

// Queue is the queues of all objects with their workers.
type Queue struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	entries map[Key]*entry
	ready   fifo
	elastic elastic
	waiting int
}

// New makes a queue. Its workers get the values of the context, but not its end: for
// that there is [Queue.Stop].
func New(ctx context.Context, options Options) *Queue {
	if options.ExitTimeout == 0 {
		options.ExitTimeout = DefaultExitTimeout
	}
	q := &Queue{options: options, entries: make(map[Key]*entry)}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return q
}

// Put adds an event of an object. It never blocks. After Stop it does nothing.
func (q *Queue) Put(resource string, event watch.Event) { q.put(nil, resource, event) }

func (q *Queue) put(gate *Gate, resource string, event watch.Event) {
	key := KeyOf(resource, event.Object)
	keep := q.options.KeepEvents != nil && q.options.KeepEvents(resource)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	e := q.entries[key]
	if e == nil {
		e = &entry{key: key}
		q.entries[key] = e
	}
	e.fold(event, keep)
	if gate != nil {
		e.gate = gate
	}
	switch e.state {
	case running:
		e.press()
	case waiting:
		q.unschedule(e)
		q.admit(e)
	case idle:
		q.admit(e)
	case ready, held: // it will be seen together with those before it
	}
}

// Again makes an object be worked on once more, as if its time had come: now if it waits
// for a moment, else after what goes on, which is told by its pressure. The version is
// that of the event only if the queue knows no newer one.
func (q *Queue) Again(resource string, event watch.Event) {
	key := KeyOf(resource, event.Object)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	e := q.entries[key]
	if e == nil {
		e = &entry{key: key}
		q.entries[key] = e
	}
	if e.newest.Object == nil {
		e.newest = event
	}
	e.again = true
	switch e.state {
	case running:
		e.press()
	case waiting:
		q.unschedule(e)
		q.enqueue(e)
	case idle:
		q.enqueue(e)
	case ready, held: // its turn comes anyway
	}
}

// Drop forgets what is queued or scheduled for some objects. Work in progress goes on.
func (q *Queue) Drop(match func(Key) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, e := range q.entries {
		if match(key) {
			q.drop(e)
		}
	}
}

func (q *Queue) drop(e *entry) {
	e.clear()
	switch e.state {
	case waiting:
		q.unschedule(e)
		delete(q.entries, e.key)
	case held:
		e.state, e.gate = idle, nil
		delete(q.entries, e.key)
	case ready:
		// It stays in the row, with nothing to do when its turn comes.
		e.due, e.again = nil, false
	case running:
		e.again = false
	case idle:
	}
}

// Stats is what a queue is busy with.
type Stats struct {
	Ready   int // objects that wait for a worker
	Running int // objects being worked on
	Waiting int // objects with something to do later
}

// Stats tells what the queue is busy with.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Ready: q.ready.len, Running: q.elastic.running, Waiting: q.waiting}
}
