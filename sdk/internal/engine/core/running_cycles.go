package core

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// RunningCycles are the objects that workers handle now, so that they can be stopped. A nil value is that of
// an operator that never gives objects away. It is safe for concurrent use.
type RunningCycles struct {
	mu     sync.Mutex
	cycles map[queue.Key]*runningCycle
}

type runningCycle struct {
	namespace string
	cancel    context.CancelFunc
	ended     chan struct{}
}

// Begin notes that a worker handles an object until end is called. The object must be checked for whether the
// operator may handle it only after that.
func (r *RunningCycles) Begin(ctx context.Context, key queue.Key, namespace string) (_ context.Context, end func()) {
	if r == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &runningCycle{namespace: namespace, cancel: cancel, ended: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cycles == nil {
		r.cycles = map[queue.Key]*runningCycle{}
	}
	r.cycles[key] = c
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cycles, key)
		close(c.ended)
	}
}

// Stop waits until the handling of some objects has ended. After the grace period, it cancels the contexts of
// their handlers. It calls slow if some still run a moment later, and goes on waiting.
func (r *RunningCycles) Stop(match func(key queue.Key, namespace string) bool, grace time.Duration, slow func(objects int)) {
	var running []*runningCycle
	r.mu.Lock()
	for key, c := range r.cycles {
		if match(key, c.namespace) {
			running = append(running, c)
		}
	}
	r.mu.Unlock()
	if running = stillRunning(running, grace); len(running) == 0 {
		return
	}
	for _, c := range running {
		c.cancel()
	}
	if running = stillRunning(running, queue.AbandonAfter); len(running) == 0 {
		return
	}
	slow(len(running))
	for _, c := range running {
		<-c.ended
	}
}

// stillRunning returns the cycles that have not ended after a while.
func stillRunning(all []*runningCycle, limit time.Duration) (left []*runningCycle) {
	timer := time.NewTimer(max(0, limit))
	defer timer.Stop()
	for i, c := range all {
		select {
		case <-c.ended:
		case <-timer.C:
			for _, c := range all[i:] {
				select {
				case <-c.ended:
				default:
					left = append(left, c)
				}
			}
			return left
		}
	}
	return nil
}
