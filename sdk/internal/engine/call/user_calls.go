package call

import (
	"sync"
	"time"
)

// WaitForUsers blocks until all functions of a group, which are callbacks of the user, have returned. After the timeout, it stops
// waiting and calls abandoned.
func WaitForUsers(running *sync.WaitGroup, timeout time.Duration, abandoned func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
	}()
	select {
	case <-done:
	case <-time.After(timeout):
		abandoned()
	}
}
