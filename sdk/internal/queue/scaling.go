package queue

import "time"

// The number of workers follows the load. Handlers may take any time, and must not delay the handlers of other objects,
// so no fixed number is right. But if thousands of objects arrive at once and each takes a few milliseconds, a worker
// for each object would only cost memory, because more concurrent requests make the cluster slower.
//
// So only the number of counted workers is limited. A worker is counted from the start of an object until the end, or
// until it is stuck; then a new worker can start. A worker is stuck:
//
//   - in a request to the cluster, after slowRequest;
//   - outside of a request, hence in a handler, after stuckAfter and stuckFactor times the average duration. The average
//     is the number of counted workers divided by the rate of completions (Little's law). If all workers are slow, the
//     machine or the cluster is busy, and more workers would not help;
//   - outside of a request, if no worker finished an object for stalledTicks, because then all handlers sleep.
//
// While the counted workers with objects of listings mostly wait for the cluster, their number is at most maxLoading: with more requests at
// once, the cluster changes no more objects of the listing in a second, but delivers the changes of live objects later. Requests that take
// more than hangsAfter do not count, because the cluster is not busy with them.
const (
	maxCounted   = 64
	maxLoading   = 16
	hangsAfter   = time.Second
	tickInterval = 25 * time.Millisecond
	stalledTicks = 2
	stuckAfter   = 200 * time.Millisecond
	stuckFactor  = 4
	slowRequest  = 5 * time.Second

	// reserve is the inverse of the part of the workers that take no objects of listings, so that slow handlers of a listing
	// do not occupy all workers. These workers come in addition to maxCounted, but not to a [Options].WorkerLimit.
	reserve = 8

	// rateWeight is the weight of the latest tick in the average rate.
	rateWeight = 0.1
)

// scaling decides how many workers there are. It is guarded by the lock of the queue.
type scaling struct {
	running  int // number of workers that process an object or are about to take one
	starting int // number of workers that are about to take an object
	counted  int // number of counted workers

	listing        int // number of running workers with an object of [Listing]
	countedListing int // number of counted workers with an object of [Listing]
	unloadedTicks  int // number of consecutive ticks that found most of the latter in handlers or in hanging requests

	oldest, newest *worker // ends of the list of counted workers, ordered by the start of their objects

	completed int     // number of processed objects since the last tick
	rate      float64 // average number of processed objects per tick
	idleTicks int     // number of consecutive ticks without a processed object
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
	if w.listing {
		s.countedListing--
	}
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

// takesListing accounts for a worker that takes an object of [Listing].
func (s *scaling) takesListing(w *worker) {
	w.listing = true
	s.listing++
	if w.counted { // unless the worker was released before it took an object
		s.countedListing++
	}
}

// finished accounts for a worker that has finished an object.
func (s *scaling) finished(w *worker) {
	s.release(w)
	s.running--
	if w.listing {
		w.listing = false
		s.listing--
	}
	s.completed++
}

// watch starts the ticks, which must not run already. They stop when no object is ready.
func (s *scaling) watch(tick func()) {
	s.ticking = true
	if s.timer == nil {
		s.timer = time.AfterFunc(tickInterval, tick)
		return
	}
	s.timer.Reset(tickInterval)
}

// listingLimit returns the maximum of countedListing.
func (s *scaling) listingLimit() int {
	if s.unloadedTicks >= stalledTicks {
		return maxCounted
	}
	return maxLoading
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
	loading, others := 0, 0 // workers with objects of listings
	for w, next := s.oldest, (*worker)(nil); w != nil; w = next {
		next = w.next
		age, inRequest := now.Sub(w.began), w.requests.Load() > 0
		switch {
		case !w.listing || age < tickInterval:
		case inRequest && age < hangsAfter:
			loading++
		default:
			others++
		}
		switch {
		case inRequest && age >= slowRequest, !inRequest && (stalled || age >= limit):
			s.release(w)
		}
	}
	if s.unloadedTicks++; others <= loading {
		s.unloadedTicks = 0
	}
}

// tick is called regularly while objects are ready.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scaling.ticking = false
	if q.stopped || q.ready.len == 0 {
		q.scaling.rate, q.scaling.idleTicks, q.scaling.unloadedTicks = 0, 0, 0
		return
	}
	q.scaling.relax(time.Now())
	q.dispatch()
}
