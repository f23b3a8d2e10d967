package queue

import (
	"fmt"
	"strings"
	"time"
)

// AbandonAfter is how long workers may take to notice that their context has ended.
const AbandonAfter = 500 * time.Millisecond

// AbandonedError says that some work did not end even after its context had ended.
type AbandonedError struct{ Keys []Key }

// Error names the objects.
func (e *AbandonedError) Error() string {
	names := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		names[i] = key.Resource + " " + key.Object
	}
	return fmt.Sprintf("work on %d objects goes on though it was cancelled: %s", len(e.Keys), strings.Join(names, ", "))
}

// Stop ends the work: nothing new begins; what goes on may take the exit timeout, then
// its context is cancelled. What was queued is forgotten: it will be listed by the next
// operator. If some work ignores the end of its context, it is left alone, and an
// [AbandonedError] tells which.
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
	q.ready = fifo{}
	if q.elastic.timer != nil {
		q.elastic.timer.Stop()
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
