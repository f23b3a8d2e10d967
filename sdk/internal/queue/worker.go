package queue

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// worker is a goroutine that works on one object after another.
type worker struct {
	prev, next *worker // among those that count
	counts     bool
	began      time.Time    // with the current object
	requests   atomic.Int32 // to the cluster that go on
}

// request notes that the worker begins to wait for the cluster; the result ends it.
func (w *worker) request() (end func()) {
	w.requests.Add(1)
	return func() { w.requests.Add(-1) }
}

// enqueue puts an object into the row.
func (q *Queue) enqueue(e *entry) {
	e.state = ready
	q.ready.push(e)
	q.dispatch()
}

// dispatch starts workers for those in the row, as far as allowed.
func (q *Queue) dispatch() {
	for q.ready.len > 0 && q.mayStart() {
		w := new(worker)
		q.begin(w)
		q.workers.Go(func() { q.work(w) })
	}
	q.attend()
}

// attend makes sure that somebody looks after a row that no worker will come for.
func (q *Queue) attend() {
	limited := q.options.WorkerLimit > 0 && q.elastic.running >= q.options.WorkerLimit
	if q.ready.len > q.elastic.starting && !limited && !q.stopped {
		q.elastic.watch(q.tick)
	}
}

func (q *Queue) mayStart() bool {
	if q.options.WorkerLimit > 0 && q.elastic.running >= q.options.WorkerLimit {
		return false
	}
	// Each worker that was started for the row takes one from it.
	return q.elastic.counted < elasticBase && q.elastic.starting < q.ready.len
}

// begin accounts for a worker that is about to take an object.
func (q *Queue) begin(w *worker) {
	q.elastic.running++
	q.elastic.starting++
	q.elastic.add(w, time.Now())
}

// work takes objects from the row until there are none, or enough other workers.
func (q *Queue) work(w *worker) {
	ctx := kube.WithNotice(q.ctx, w.request)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		q.elastic.starting--
		if e := q.ready.pop(); e != nil {
			q.process(ctx, w, e)
		}
		q.elastic.finished(w)
		if q.ready.len == 0 || q.stopped || !q.mayStart() {
			q.attend()
			return
		}
		q.begin(w)
	}
}

// process works on an object, with the lock released meanwhile.
func (q *Queue) process(ctx context.Context, w *worker, e *entry) {
	if len(e.events) > 0 && q.hold(e) {
		return // it was in the row before it was to be held back
	}
	batch := &Batch{Key: e.key, Events: e.events, Newest: e.newest, Listed: e.listed, Folded: e.folded, queue: q, entry: e, worker: w}
	if n := len(e.events); n > 0 {
		batch.Newest = e.events[n-1]
	}
	due, again := e.due, e.again
	e.clear()
	e.newest, e.again = batch.Newest, false
	e.due, e.state, e.pressure, e.pressed = nil, running, nil, false

	var later *Later
	switch {
	case len(batch.Events) > 0 || again:
		q.outside(func() { later = q.options.Process(ctx, batch) })
	case due != nil:
		q.outside(func() { later = due.Do(ctx) })
	}
	e.pressure = nil
	switch {
	case q.stopped:
		delete(q.entries, e.key)
	case len(e.events) > 0 || e.again:
		// To the end of the row, and without another worker: this one goes on with the row.
		if len(e.events) > 0 {
			e.newest = watch.Event{} // and its decoded tree: the row may be long
		}
		if !q.hold(e) {
			e.state = ready
			q.ready.push(e)
		}
	case later != nil:
		q.schedule(e, later)
	default:
		e.state = idle
		delete(q.entries, e.key)
	}
}

// outside does something with the lock released. It is locked again even if the goroutine
// is ended from inside, as a failing test ends the one it is called in.
func (q *Queue) outside(do func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	do()
}

// schedule arms the timer of an object.
func (q *Queue) schedule(e *entry, later *Later) {
	e.state, e.later = waiting, later
	q.waiting++
	// Thousands of objects may wait: only what is needed is kept.
	if later.Do != nil {
		e.newest = watch.Event{}
	} else {
		e.newest.Object.Forget()
	}
	e.timer = time.AfterFunc(max(0, later.After), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		// An event may have come first, and even something else be scheduled since.
		if e.state != waiting || e.later != later {
			return
		}
		q.unschedule(e)
		if later.Do == nil {
			e.again = true
		} else {
			e.due = later
		}
		q.enqueue(e)
	})
}

func (q *Queue) unschedule(e *entry) {
	e.timer.Stop()
	e.timer, e.later, e.state = nil, nil, idle
	q.waiting--
}
