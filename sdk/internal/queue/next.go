package queue

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Next is when to process an object again without an event; at once if the delay is over. It is dropped if an event of
// the object arrives first, since the processor decides again then.
type Next struct{ After time.Duration }

// keepFor is the longest delay for which the content of an object is kept. Thousands of objects may be waiting for an
// hour.
const keepFor = time.Minute

// Again requeues an object: it is processed again at once or, if it is being processed, after that;
// [Batch.Requeued] is true then. The version of the event is only used if the queue knows none.
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
	case waiting:
		q.unschedule(e)
		q.enqueue(e)
	case idle:
		q.enqueue(e)
	case ready, running, held: // it is processed anyway
	}
}

// Between calls a function while the object is not being processed: at once, or after the present processing. Queued
// or scheduled processing of the object comes after the function. It returns false if the queue is stopped, and does
// not call the function if the queue stops before its turn.
func (q *Queue) Between(key Key, do func(ctx context.Context)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	e := q.entries[key]
	if e == nil {
		e = &entry{key: key}
		q.entries[key] = e
	}
	e.between = append(e.between, do)
	switch e.state {
	case waiting:
		e.kept = &Next{After: time.Until(e.end)}
		q.unschedule(e)
		q.enqueue(e)
	case idle, held: // nothing of the object is processed behind the gate, but this is not about its events
		e.state = idle
		q.enqueue(e)
	case running, ready: // its turn comes
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
		// An event may have arrived first, and something else been scheduled since.
		if e.state != waiting || e.scheduled != next {
			return
		}
		q.unschedule(e)
		e.again = true
		q.enqueue(e)
	})
}

func (q *Queue) unschedule(e *entry) {
	e.timer.Stop()
	e.timer, e.scheduled, e.state = nil, nil, idle
	q.waiting--
}
