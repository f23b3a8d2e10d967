package queue

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Next schedules the processing of an object without an event, after a delay. An event of the object that arrives
// first cancels it, because the processor then returns another Next.
type Next struct{ After time.Duration }

// keepFor is the longest delay for which the queue keeps the content of an object. Thousands of objects may wait for
// an hour.
const keepFor = time.Minute

// Again requeues an object: a worker processes it at once or, if a worker is processing it, once more afterwards, with
// [Batch.Requeued] set. The version of the event is only used if the queue knows no version of the object.
func (q *Queue) Again(class Class, resource string, event watch.Event) {
	key := KeyOf(resource, event.Object)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	e := q.entries[key]
	if e == nil {
		e = newEntry(key)
		q.entries[key] = e
	}
	if e.newest.Object == nil {
		e.newest = event
	}
	e.again = true
	q.rank(e, class)
	switch e.state {
	case waiting:
		q.unschedule(e)
		q.enqueue(e)
	case idle:
		q.enqueue(e)
	case ready, running, held: // the next processing of the object sees e.again
	}
}

// Recall requeues an object of which only the identity is known, because a slot is waiting for it. The object gets every second
// turn of [Due]. Without a version in the queue, the processor gets a batch that is [Batch.Bodiless].
func (q *Queue) Recall(resource string, stub *object.Object) {
	key := KeyOf(resource, stub)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	e := q.entries[key]
	if e == nil {
		e = newEntry(key)
		q.entries[key] = e
	}
	if e.newest.Object == nil {
		e.newest, e.bodiless = watch.Event{Type: watch.Modified, Object: stub}, true
	}
	e.again = true
	q.rank(e, Due)
	switch e.state {
	case waiting:
		q.unschedule(e)
		fallthrough
	case idle:
		e.state = ready
		e.slot = true
		q.ready.push(e, q.now())
		q.dispatch()
	case ready, running, held: // the next processing of the object sees e.again
	}
}

// Between calls a function while no worker processes the object: at once, or after the current processing, but before
// queued or scheduled processing. It returns false if the queue is stopped. If the queue stops later, the function may
// not be called.
func (q *Queue) Between(key Key, do func(ctx context.Context)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	e := q.entries[key]
	if e == nil {
		e = newEntry(key)
		q.entries[key] = e
	}
	e.between = append(e.between, do)
	q.rank(e, Live)
	switch e.state {
	case waiting:
		e.kept = &Next{After: time.Until(e.end)}
		q.unschedule(e)
		q.enqueue(e)
	case idle, held: // a closed gate only holds back events, not the function
		e.state = idle
		q.enqueue(e)
	case running, ready: // process calls the function
	}
	return true
}

// schedule starts the timer of an object's next processing.
func (q *Queue) schedule(e *entry, next *Next) {
	e.state, e.scheduled, e.end = waiting, next, time.Now().Add(next.After)
	q.waiting++
	if o := e.newest.Object; next.After <= keepFor {
		o.DropTree()
	} else if !e.bodiless {
		e.bodiless = true
		e.newest.Object = object.Stub(o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion)
	}
	e.timer = time.AfterFunc(max(0, next.After), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		// Before the timer fired, an event may have arrived, and another Next may be scheduled.
		if e.state != waiting || e.scheduled != next {
			return
		}
		q.unschedule(e)
		e.again = true
		q.rank(e, Due)
		q.enqueue(e)
	})
}

func (q *Queue) unschedule(e *entry) {
	e.timer.Stop()
	e.timer, e.scheduled, e.state = nil, nil, idle
	q.waiting--
}
