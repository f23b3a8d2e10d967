package engine

import (
	"sync"
	"time"
)

// maxEarly is how many events are kept until it is known how to post them.
const maxEarly = 1000

// early is what the recorders of activities lead to. The first of them come before it is
// known how to post, and with what credentials.
type early struct {
	mu      sync.Mutex
	open    bool
	real    *Recorder // nil if nothing is to be posted
	kept    []func(*Recorder)
	dropped int
}

// pass does what is to be done with the recorder, now or as soon as there is one.
func (e *early) pass(post func(*Recorder)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.open:
		post(e.real)
	case len(e.kept) < maxEarly:
		e.kept = append(e.kept, post)
	default:
		e.dropped++
	}
}

// begin lets the events go, and returns how many were dropped before.
func (e *early) begin(real *Recorder) (dropped int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.real = true, real
	for _, post := range e.kept {
		post(real)
	}
	e.kept = nil
	return e.dropped
}

// at makes the recorder stamp its events with one time.
func (r *Recorder) at(t time.Time) *Recorder {
	if r == nil {
		return nil
	}
	then := *r
	then.now = func() time.Time { return t }
	return &then
}
