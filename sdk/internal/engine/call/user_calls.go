package call

import (
	"sync"
	"time"
)

// UserCalls tracks user callbacks that run in the background.
type UserCalls struct{ running sync.WaitGroup }

// Start calls a function in a separate goroutine.
func (c *UserCalls) Start(call func()) { c.running.Go(call) }

// Wait blocks until all calls have returned. After the timeout, it stops waiting and calls abandoned.
func (c *UserCalls) Wait(timeout time.Duration, abandoned func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.running.Wait()
	}()
	select {
	case <-done:
	case <-time.After(timeout):
		abandoned()
	}
}
