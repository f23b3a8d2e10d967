package queueing

import "time"

// The number of workers is elastic. Handlers may take any time, and must not wait for one
// another, so no fixed number is right. But when thousands of objects arrive at once and
// each takes a moment, a worker for each would only cost memory: the cluster does not get
// faster by being asked more at a time.
//
// Hence only so many workers may be fresh. One stops being fresh, and lets another start,
// when it has finished; when it said that it waits; when it has been at an object for
// stuckAfter; or, together with all others, when nobody finished anything for a whole tick.
const (
	elasticBase = 64
	elasticTick = 25 * time.Millisecond
	stuckAfter  = 200 * time.Millisecond
)

type elastic struct {
	running  int // workers
	starting int // of them, those that have not taken an object yet
	counted  int // of them, the fresh ones

	oldest, newest *worker // the fresh ones in the order of their beginning

	completed int // since the last tick
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
	s.ticking, s.completed = true, 0
	if s.timer == nil {
		s.timer = time.AfterFunc(elasticTick, tick)
		return
	}
	s.timer.Reset(elasticTick)
}

// relax releases those that are stuck, so that the row gets on.
func (s *elastic) relax(now time.Time) {
	stalled := s.completed == 0
	s.completed = 0
	for w := s.oldest; w != nil && (stalled || now.Sub(w.began) >= stuckAfter); w = s.oldest {
		s.release(w)
	}
}

// tick is called while objects wait for workers.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.elastic.ticking = false
	if q.stopped || q.ready.len == 0 {
		return
	}
	q.elastic.relax(time.Now())
	q.dispatch()
}
