package engine

import (
	"sync"
	"time"
)

// userCalls are calls of user functions that run in the background.
type userCalls struct{ running sync.WaitGroup }

func (c *userCalls) start(call func()) { c.running.Go(call) }

// wait blocks until all calls have returned. After the timeout, it abandons them and calls
// abandoned.
func (c *userCalls) wait(timeout time.Duration, abandoned func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.running.Wait()
	}()
	timer := time.NewTimer(max(0, timeout))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		abandoned()
	}
}
