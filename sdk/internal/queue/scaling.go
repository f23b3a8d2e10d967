package queue

import "time"

// The number of workers follows the load. Handlers may take any time, and must not delay the
// handlers of other objects, so no fixed number is right. But when thousands of objects arrive at
// once and each takes a moment, a worker for each would only cost memory: more requests at a time do
// not make the cluster faster, but slower.
//
// So the number of counted workers is limited. A worker stops being counted when it has finished, when it announced a
// long wait, or when it is stuck; then a new worker can start. Stuck means:
//
//   - in a request to the cluster, after slowRequest;
//   - elsewhere, hence in a handler, after stuckAfter, and after several times the average of the
//     others, which is the number of workers divided by the rate at which they finish (Little's
//     law): if all are slow together, the machine or the cluster is busy, and more workers would
//     not help;
//   - elsewhere, if no worker finished for stalledTicks: all of them sleep.
const (
	maxCounted   = 64
	tickInterval = 25 * time.Millisecond
	stalledTicks = 2
	stuckAfter   = 200 * time.Millisecond
	stuckFactor  = 4
	slowRequest  = 5 * time.Second

	// rateWeight is the weight of the latest tick in the average rate.
	rateWeight = 0.1
)

// scaling decides how many workers there are. It is guarded by the lock of the queue.
type scaling struct {
	running  int // workers
	starting int // workers that have not taken an object yet
	counted  int // counted workers

	oldest, newest *worker // counted, in the order in which they began

	completed int     // since the last tick
	rate      float64 // completions per tick
	idleTicks int     // consecutive ticks without a completion
	timer     *time.Timer
	ticking   bool
}

func (s *scaling) add(w *worker, now time.Time) {
	w.counted, w.began = true, now
	w.prev, w.next = s.newest, nil
	if s.newest == nil {
		s.oldest = w
	} else {
		s.newest.next = w
	}
	s.newest = w
	s.counted++
}

// release stops counting a worker, so that another worker can start.
func (s *scaling) release(w *worker) {
	if !w.counted {
		return
	}
	w.counted = false
	s.counted--
	if w.prev == nil {
		s.oldest = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		s.newest = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// finished accounts for a worker that has finished an object.
func (s *scaling) finished(w *worker) {
	s.release(w)
	s.running--
	s.completed++
}

// watch starts the ticks, which continue while objects are ready.
func (s *scaling) watch(tick func()) {
	if s.ticking {
		return
	}
	s.ticking = true
	if s.timer == nil {
		s.timer = time.AfterFunc(tickInterval, tick)
		return
	}
	s.timer.Reset(tickInterval)
}

// relax releases stuck workers.
func (s *scaling) relax(now time.Time) {
	s.rate += rateWeight * (float64(s.completed) - s.rate)
	if s.idleTicks++; s.completed > 0 {
		s.idleTicks = 0
	}
	s.completed = 0
	stalled := s.idleTicks >= stalledTicks
	limit := max(stuckAfter, time.Duration(stuckFactor*float64(s.counted)/max(s.rate, 1e-3)*float64(tickInterval)))
	for w, next := s.oldest, (*worker)(nil); w != nil; w = next {
		next = w.next
		age := now.Sub(w.began)
		switch inRequest := w.requests.Load() > 0; {
		case inRequest && age >= slowRequest, !inRequest && (stalled || age >= limit):
			s.release(w)
		}
	}
}

// tick is called regularly while objects are ready.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scaling.ticking = false
	if q.stopped || q.ready.len == 0 {
		q.scaling.rate, q.scaling.idleTicks = 0, 0
		return
	}
	q.scaling.relax(time.Now())
	q.dispatch()
}
