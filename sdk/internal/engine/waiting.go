package engine

import (
	"context"
	"time"
)

// wakeup wakes up one goroutine. Signals that are raised before it looks count as one.
type wakeup chan struct{}

func newWakeup() wakeup { return make(wakeup, 1) }

func (s wakeup) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
