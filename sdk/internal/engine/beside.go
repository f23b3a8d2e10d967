package engine

import (
	"sync"
	"time"
)

// beside are calls of a user's functions that the operator does not wait for while it runs.
type beside struct{ sync.WaitGroup }

// wait waits until all of them have returned, but not for long. It tells if some have not.
func (b *beside) wait(atMost time.Duration, late func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Wait()
	}()
	timer := time.NewTimer(max(0, atMost))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		late()
	}
}
