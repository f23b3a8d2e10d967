package core

import (
	"context"
	"time"
)

// Wakeup wakes up one goroutine. Signals that are raised before it looks count as one.
type Wakeup chan struct{}

// NewWakeup returns a wakeup without signals.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Raise sends a signal, and does not block.
func (s Wakeup) Raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Sleep waits for a duration. It returns the error of the context if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
