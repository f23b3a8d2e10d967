package queue

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// maxIdle is the number of idle workers that are kept. The stack of a kept worker has already grown to the size that
// processing needs, while the runtime copies the stack of a new goroutine several times.
const maxIdle = 32

// worker is a goroutine that processes one object after another.
type worker struct {
	prev, next *worker // neighbours in the list of counted workers
	counted    bool
	listing    bool          // the current object is of [Listing]
	began      time.Time     // start of the processing of the current object
	requests   atomic.Int32  // number of running requests to the cluster
	wake       chan struct{} // receives when an object is ready; closed when the queue stops
}

// request counts a request to the cluster until end is called.
func (w *worker) request() (end func()) {
	w.requests.Add(1)
	return func() { w.requests.Add(-1) }
}

// now returns the time since the start of the queue.
func (q *Queue) now() time.Duration { return time.Since(q.began) }

// enqueue puts an object into the ready list.
func (q *Queue) enqueue(e *entry) {
	e.state = ready
	q.ready.push(e, q.now())
	q.dispatch()
}

// rank raises the class of an object for a reason that is not an event.
func (q *Queue) rank(e *entry, class Class) {
	e.rest = min(e.rest, class)
	q.raise(e, class)
}

// raise gives an object a class if that is more urgent, and moves it to the line of the class.
func (q *Queue) raise(e *entry, class Class) {
	switch {
	case class >= e.class:
	case e.state != ready:
		e.class = class
	default:
		q.ready.remove(e)
		e.class = class
		q.ready.push(e, q.now())
		q.dispatch()
	}
}

// dispatch starts workers for ready objects, up to the limits.
func (q *Queue) dispatch() {
	for q.ready.len > 0 && q.mayStart() {
		if last := len(q.idle) - 1; last >= 0 {
			w := q.idle[last] // the stack of the last worker is most likely in the processor's cache
			q.idle = q.idle[:last]
			q.begin(w)
			w.wake <- struct{}{}
			continue
		}
		w := &worker{wake: make(chan struct{}, 1)}
		q.begin(w)
		q.workers.Go(func() { q.work(w) })
	}
	q.watchReady()
}

// watchReady starts the ticks if the starting workers do not suffice for the ready objects.
func (q *Queue) watchReady() {
	s, n := &q.scaling, q.options.WorkerLimit
	limited := n > 0 && (s.running >= n || s.listing >= n-n/reserve && q.ready.len == q.ready.lines[Listing].len)
	if !s.ticking && q.ready.len > s.starting && !limited && !q.stopped {
		s.watch(q.tick) // allocates the function, which is too much for each object
	}
}

func (q *Queue) mayStart() bool {
	s, n := &q.scaling, q.options.WorkerLimit
	if n > 0 && s.running >= n || s.counted >= maxCounted+min(maxCounted/reserve, s.countedListing) {
		return false
	}
	listing := q.ready.lines[Listing].len
	// Each worker that is starting takes one ready object.
	return s.starting < q.ready.len-listing+min(listing, q.roomForListing())
}

// roomForListing returns the number of workers that may take an object of [Listing].
func (q *Queue) roomForListing() int {
	room := q.scaling.listingLimit() - q.scaling.countedListing
	if n := q.options.WorkerLimit; n > 0 {
		room = min(room, n-n/reserve-q.scaling.listing)
	}
	return max(0, room)
}

// begin accounts for a worker that is about to take an object.
func (q *Queue) begin(w *worker) {
	q.scaling.running++
	q.scaling.starting++
	q.scaling.add(w, time.Now())
}

// work processes ready objects, and waits for more unless maxIdle workers are already waiting.
func (q *Queue) work(w *worker) {
	ctx := kube.WithRequestHook(q.ctx, w.request)
	for more := true; more; {
		more = q.workUntilIdle(ctx, w)
		if more {
			_, more = <-w.wake
		}
	}
}

// workUntilIdle processes ready objects until none are left or the limits forbid the next start. It reports whether
// the worker waits for more objects.
func (q *Queue) workUntilIdle(ctx context.Context, w *worker) (kept bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		q.scaling.starting--
		if e := q.ready.pop(q.now(), q.roomForListing() > 0); e != nil {
			if e.class == Listing {
				q.scaling.takesListing(w)
			}
			q.process(ctx, e)
		}
		q.scaling.finished(w)
		if q.ready.len == 0 || q.stopped || !q.mayStart() {
			q.watchReady()
			break
		}
		q.begin(w)
	}
	if q.stopped || len(q.idle) == maxIdle {
		return false
	}
	q.idle = append(q.idle, w)
	return true
}

// process processes an object, with the lock released.
func (q *Queue) process(ctx context.Context, e *entry) {
	if e.class != Live {
		ctx = kube.InBulk(ctx) // so that its requests do not delay the events of live objects
	}
	for len(e.between) > 0 { // more can come during the calls
		between := e.between
		e.between, e.state = nil, running
		q.outside(func() {
			for _, do := range between {
				do(ctx)
			}
		})
		if q.stopped {
			delete(q.entries, e.key)
			return
		}
	}
	if len(e.events) > 0 && q.hold(e) {
		return // the object became ready before an event put it behind the gate
	}
	batch := &Batch{Key: e.key, Events: e.events, Newest: e.newest, Listed: e.listed, Complete: e.complete, Requeued: e.again, Bodiless: e.bodiless, queue: q, entry: e}
	if n := len(e.events); n > 0 {
		batch.Newest, batch.Bodiless = e.events[n-1], false
	}
	kept := e.kept
	e.origin = e.class
	e.clear()
	e.newest, e.bodiless, e.again = batch.Newest, batch.Bodiless, false
	e.kept, e.state = nil, running

	next := kept
	if len(batch.Events) > 0 || batch.Requeued {
		q.outside(func() { next = q.options.Process(ctx, batch) })
		e.newest, e.bodiless = batch.Newest, batch.Bodiless
	}
	atOnce := next != nil && next.After <= 0
	e.again = e.again || atOnce
	e.continued(atOnce)
	switch {
	case q.stopped:
		delete(q.entries, e.key)
	case len(e.events) > 0 || e.again || len(e.between) > 0:
		e.kept = next // ignored if an event arrived
		// The object goes to the end of the ready list. This worker continues with the list, so no worker is started.
		if len(e.events) > 0 {
			e.newest = watch.Event{} // frees the decoded tree, because the ready list may be long
		}
		if len(e.between) > 0 || !q.hold(e) { // the functions do not wait for the gate
			e.state = ready
			q.ready.push(e, q.now())
		}
	case next != nil:
		q.catchUp.handled(e)
		q.schedule(e, next)
	default:
		q.catchUp.handled(e)
		e.state = idle
		delete(q.entries, e.key)
	}
}

// outside calls a function with the lock released. It takes the lock again even if the function ends the goroutine, as
// FailNow of a test does.
func (q *Queue) outside(do func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	do()
}
