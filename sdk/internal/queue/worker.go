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
	began      time.Time     // start of the processing of the current object
	requests   atomic.Int32  // number of running requests to the cluster
	wake       chan struct{} // receives when an object is ready; closed when the queue stops
}

// request counts a request to the cluster until end is called.
func (w *worker) request() (end func()) {
	w.requests.Add(1)
	return func() { w.requests.Add(-1) }
}

// enqueue puts an object into the ready list.
func (q *Queue) enqueue(e *entry) {
	e.state = ready
	q.ready.push(e)
	q.dispatch()
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
	limited := q.options.WorkerLimit > 0 && q.scaling.running >= q.options.WorkerLimit
	if q.ready.len > q.scaling.starting && !limited && !q.stopped {
		q.scaling.watch(q.tick)
	}
}

func (q *Queue) mayStart() bool {
	if q.options.WorkerLimit > 0 && q.scaling.running >= q.options.WorkerLimit {
		return false
	}
	// Each worker that is starting takes one ready object.
	return q.scaling.counted < maxCounted && q.scaling.starting < q.ready.len
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
		if e := q.ready.pop(); e != nil {
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
	if between := e.between; len(between) > 0 {
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
	e.clear()
	e.newest, e.bodiless, e.again = batch.Newest, batch.Bodiless, false
	e.kept, e.state = nil, running

	next := kept
	if len(batch.Events) > 0 || batch.Requeued {
		q.outside(func() { next = q.options.Process(ctx, batch) })
		e.newest, e.bodiless = batch.Newest, batch.Bodiless
	}
	if next != nil && next.After <= 0 {
		e.again = true
	}
	switch {
	case q.stopped:
		delete(q.entries, e.key)
	case len(e.events) > 0 || e.again || len(e.between) > 0:
		e.kept = next // ignored if an event arrived
		// The object goes to the end of the ready list. This worker continues with the list, so no worker is started.
		if len(e.events) > 0 {
			e.newest = watch.Event{} // frees the decoded tree, because the ready list may be long
		}
		if !q.hold(e) {
			e.state = ready
			q.ready.push(e)
		}
	case next != nil:
		q.schedule(e, next)
	default:
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
