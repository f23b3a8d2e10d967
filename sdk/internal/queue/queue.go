package queue

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// DefaultExitTimeout is how long processing may continue after [Queue.Stop].
const DefaultExitTimeout = 2 * time.Second

// Key identifies an object of any resource.
type Key struct {
	Resource string // the resource's key
	Object   string // the UID; for an object without a UID, its namespace and name
}

// KeyOf returns the key of an object of a resource.
func KeyOf(resource string, object *object.Object) Key {
	if object.UID != "" {
		return Key{resource, object.UID}
	}
	return Key{resource, object.Namespace + "/" + object.Name}
}

// Processor processes an object. It returns when to process the object without an event; nil if an event must come
// first. The context ends when the exit timeout is over.
type Processor func(ctx context.Context, batch *Batch) *Next

// Options configure a queue.
type Options struct {
	// Process is called for one object at a time, and for different objects in parallel.
	Process Processor

	// KeepEvents reports whether all events of a resource are passed to Process, rather than only the
	// newest of each object. Optional.
	KeepEvents func(resource string) bool

	// Settled reports whether nothing is left to do for the new version of a changed object, so that its event needs no worker. It is
	// only called for events that are not kept, while the queue has no other work for the object and no worker processes it. It must
	// return at once, and must not use the queue. Optional.
	Settled func(key Key, version string) bool

	// Progress is called for each change of [Stats].CatchUp. It must return at once, and must not use the queue. Optional.
	Progress func(CatchUp)

	// WorkerLimit is the maximum number of concurrently processed objects, including the ones whose handlers sleep. If it
	// is not positive, there is no limit, and the number of workers follows the load.
	WorkerLimit int

	// ExitTimeout is how long processing may continue after [Queue.Stop]. Defaults to 2s. A negative timeout cancels
	// processing at once.
	ExitTimeout time.Duration
}

// Queue queues the events of objects, and processes each object by one worker at a time. It is safe
// for concurrent use.
type Queue struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	entries map[Key]*entry
	began   time.Time
	ready   readyList
	catchUp catchUp
	scaling scaling
	idle    []*worker // workers that wait for ready objects
	waiting int
}

// New returns a queue. Its workers get the values of the context, but ignore its end: see [Queue.Stop].
func New(ctx context.Context, options Options) *Queue {
	if options.ExitTimeout == 0 {
		options.ExitTimeout = DefaultExitTimeout
	}
	q := &Queue{options: options, entries: make(map[Key]*entry), began: time.Now()}
	q.catchUp.changed = options.Progress
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return q
}

// Put queues an event of an object. It never blocks. It does nothing after [Queue.Stop].
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
		if !keep && event.Type == watch.Modified && q.options.Settled != nil && q.options.Settled(key, event.Object.ResourceVersion) {
			return
		}
		e = newEntry(key)
		q.entries[key] = e
	}
	e.rest = e.class
	q.raise(e, e.classOf(event))
	e.fold(event, keep)
	if event.Type == watch.Listed {
		q.catchUp.add(e)
	}
	if gate != nil {
		e.gate = gate
	}
	switch e.state {
	case waiting:
		q.unschedule(e)
		q.admit(e)
	case idle:
		q.admit(e)
	case ready, running, held: // the next batch contains the event
	}
}

// Drop drops the queued and scheduled processing of some objects. It does not interrupt processing.
func (q *Queue) Drop(match func(Key) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, e := range q.entries {
		if match(key) {
			q.drop(e)
		}
	}
}

// DropObjects is [Queue.Drop] with a match by key and namespace.
func (q *Queue) DropObjects(match func(key Key, namespace string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, e := range q.entries {
		newest := e.newest.Object
		if n := len(e.events); n > 0 {
			newest = e.events[n-1].Object
		}
		if newest != nil && match(key, newest.Namespace) {
			q.drop(e)
		}
	}
}

func (q *Queue) drop(e *entry) {
	if e.state == ready {
		q.ready.remove(e)
	}
	e.clear()
	e.kept = nil
	switch e.state {
	case waiting:
		q.unschedule(e)
		q.forget(e)
	case held:
		e.state, e.gate = idle, nil
		q.forget(e)
	case ready:
		e.again, e.state = false, idle
		if len(e.between) == 0 {
			q.forget(e)
			return
		}
		q.rank(e, Live)
		q.enqueue(e)
	case running:
		e.again = false
		if len(e.between) > 0 {
			q.rank(e, Live)
		}
	case idle:
	}
}

// forget forgets an object that will not be handled.
func (q *Queue) forget(e *entry) {
	q.catchUp.drop(e)
	delete(q.entries, e.key)
}

// Stats are the numbers of objects in a queue.
type Stats struct {
	Ready   int // waiting for a worker
	Running int // being processed
	Waiting int // waiting for the delay of a [Next]

	CatchUp CatchUp
}

// Stats returns the current numbers of objects.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Ready: q.ready.len, Running: q.scaling.running, Waiting: q.waiting, CatchUp: q.catchUp.CatchUp}
}
