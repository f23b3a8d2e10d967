package core

import (
	"context"
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
