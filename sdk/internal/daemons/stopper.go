package daemons

import (
	"strings"
	"sync"
	"time"
)

// Reason is a set of reasons why a task was asked to stop. It is an error, so that it can be the
// cause of a context's cancellation.
type Reason uint8

// The reasons to stop.
const (
	FiltersMismatch Reason = 1 << iota // the object stopped matching the filters
	ResourceDeleted                    // the object is being deleted, or no longer exists
	OperatorPausing                    // another operator handles the objects
	OperatorExiting                    // the operator ends
)

var reasonNames = [...]string{"filters mismatch", "resource deleted", "operator pausing", "operator exiting"}

// Has reports whether any of the given reasons is in the set.
func (r Reason) Has(reason Reason) bool { return r&reason != 0 }

// Error lists the reasons.
func (r Reason) Error() string {
	var names []string
	for i, name := range reasonNames {
		if r.Has(1 << i) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no reason to stop"
	}
	return "stopped: " + strings.Join(names, ", ")
}

// AsStopped returns an error with the message and the chain of the given error that also wraps the reason of the stop.
func AsStopped(err error, reason Reason) error { return &stoppedError{err, reason} }

type stoppedError struct {
	error
	reason Reason
}

func (e *stoppedError) Unwrap() []error { return []error{e.error, e.reason} }

// stopper asks a task to stop. It keeps the time of the request and the stage of the stop.
type stopper struct {
	mu     sync.Mutex
	reason Reason
	since  time.Time
	stage  stage
	first  chan struct{} // closed by the first reason; nil if no goroutine waits for a reason
}

// stage is the stage of a task's stop.
type stage int

const (
	asked     stage = iota // the stopper has a reason
	signalled              // the stop was logged
	cancelled              // the context of the task is cancelled
	abandoned              // the operator stopped waiting for the task
)

// stopping returns a channel that closes with the first reason.
func (s *stopper) stopping() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = make(chan struct{})
		if s.reason != 0 {
			close(s.first)
		}
	}
	return s.first
}

// set adds a reason. It reports whether the reason is new.
func (s *stopper) set(reason Reason, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason.Has(reason) {
		return false
	}
	if s.reason == 0 {
		s.since = now
		if s.first != nil {
			close(s.first)
		}
	}
	s.reason |= reason
	return true
}

// why returns the reasons so far; 0 if there are none.
func (s *stopper) why() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

func (s *stopper) age(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.since)
}

func (s *stopper) reached(at stage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage >= at
}

// reach moves on to a stage. It reports whether the stage was not reached before.
func (s *stopper) reach(to stage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage >= to {
		return false
	}
	s.stage = to
	return true
}
