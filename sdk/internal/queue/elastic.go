package queue

import "time"

// The number of workers is elastic. Handlers may take any time, and must not wait for one
// another, so no fixed number is right. But when thousands of objects arrive at once and
// each takes a moment, a worker for each would only cost memory: the cluster does not get
// faster by being asked more at a time, it gets slower.
//
// Hence only so many workers may be fresh. One stops being fresh, and lets another start,
// when it has finished, or when it said that it waits, or when it is stuck:
//
//   - in a request to the cluster, after slowRequest, which only trouble takes;
//   - elsewhere, hence in a handler, after stuckAfter, and after several times of what the
//     others take on average, which is the number of workers by the rate at which they
//     finish (Little's law): if all are slow together, then the machine or the cluster is
//     busy, and more workers would be of no use;
//   - elsewhere, if nobody finished anything for stalledTicks: all of them sleep.
const (
	elasticBase  = 64
	elasticTick  = 25 * time.Millisecond
	stalledTicks = 2
	stuckAfter   = 200 * time.Millisecond
	stuckFactor  = 4
	slowRequest  = 5 * time.Second

	// rateWeight is how much the latest tick counts in the average rate.
	rateWeight = 0.1
)

type elastic struct {
	running  int // workers
	starting int // of them, those that have not taken an object yet
	counted  int // of them, the fresh ones

	oldest, newest *worker // the fresh ones in the order of their beginning

	completed int     // since the last tick
	rate      float64 // of completions, in a tick
	idleTicks int     // without any completion
	timer     *time.Timer
	ticking   bool
}

func (s *elastic) add(w *worker, now time.Time) {
	w.counts, w.began = true, now
	w.prev, w.next = s.newest, nil
	if s.newest == nil {
		s.oldest = w
	} else {
		s.newest.next = w
	}
	s.newest = w
	s.counted++
}

// release lets another worker start in place of this one.
func (s *elastic) release(w *worker) {
	if !w.counts {
		return
	}
	w.counts = false
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

// finished accounts for a worker that has no object any more.
func (s *elastic) finished(w *worker) {
	s.release(w)
	s.running--
	s.completed++
}

// watch looks after a row that waits, by ticks, for as long as there is one.
func (s *elastic) watch(tick func()) {
	if s.ticking {
		return
	}
	s.ticking = true
	if s.timer == nil {
		s.timer = time.AfterFunc(elasticTick, tick)
		return
	}
	s.timer.Reset(elasticTick)
}

// relax releases those that are stuck, so that the row gets on.
func (s *elastic) relax(now time.Time) {
	s.rate += rateWeight * (float64(s.completed) - s.rate)
	if s.idleTicks++; s.completed > 0 {
		s.idleTicks = 0
	}
	s.completed = 0
	stalled := s.idleTicks >= stalledTicks
	patience := max(stuckAfter, time.Duration(stuckFactor*float64(s.counted)/max(s.rate, 1e-3)*float64(elasticTick)))
	for w, next := s.oldest, (*worker)(nil); w != nil; w = next {
		next = w.next
		age := now.Sub(w.began)
		switch inRequest := w.requests.Load() > 0; {
		case inRequest && age >= slowRequest, !inRequest && (stalled || age >= patience):
			s.release(w)
		}
	}
}

// tick is called while objects wait for workers.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.elastic.ticking = false
	if q.stopped || q.ready.len == 0 {
		q.elastic.rate, q.elastic.idleTicks = 0, 0
		return
	}
	q.elastic.relax(time.Now())
	q.dispatch()
}
