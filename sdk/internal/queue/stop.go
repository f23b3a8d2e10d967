package queue

import (
	"fmt"
	"strings"
	"time"
)

// AbandonAfter is how long workers may take to return after their context has ended.
const AbandonAfter = 500 * time.Millisecond

// AbandonedError is the error of processing that continues after its context has ended.
type AbandonedError struct{ Keys []Key }

// Error lists the objects.
func (e *AbandonedError) Error() string {
	names := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		names[i] = key.Resource + " " + key.Object
	}
	return fmt.Sprintf("%d objects are still being processed after cancellation: %s", len(e.Keys), strings.Join(names, ", "))
}

// Stop stops the queue. It drops queued objects, and waits for running processing up to the exit timeout. Then it
// cancels the contexts and waits up to [AbandonAfter]. It returns an [AbandonedError] if processing still continues.
func (q *Queue) Stop() error {
	q.mu.Lock()
	q.stopped = true
	for key, e := range q.entries {
		switch e.state {
		case waiting:
			q.unschedule(e)
			delete(q.entries, key)
		case ready, held, idle:
			delete(q.entries, key)
		case running:
		}
	}
	q.ready = readyList{}
	for _, w := range q.idle {
		close(w.wake)
	}
	q.idle = nil
	if q.scaling.timer != nil {
		q.scaling.timer.Stop()
	}
	q.mu.Unlock()
	defer q.cancel()

	done := make(chan struct{})
	go func() {
		q.workers.Wait()
		close(done)
	}()
	if q.options.ExitTimeout > 0 && within(q.options.ExitTimeout, done) {
		return nil
	}
	q.cancel()
	if within(AbandonAfter, done) {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	left := new(AbandonedError)
	for key := range q.entries {
		left.Keys = append(left.Keys, key)
	}
	return left
}

func within(limit time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
