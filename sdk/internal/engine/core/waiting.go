package core

import (
	"context"
	"sync"
	"time"
)

// Wakeup wakes up one goroutine. Signals before it receives merge into one.
type Wakeup chan struct{}

// NewWakeup returns a wakeup without a pending signal.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Raise sends a signal without blocking.
func (s Wakeup) Raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Sleep waits for a duration. It returns the context's error if the context ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// WithGrace returns a context that ends some time after its parent. With it, outcomes are recorded even if the operator is stopping.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// WaitForUsers waits until all functions of a group, which are callbacks of the user, have returned. After the timeout, it stops
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
