package core

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// RunningCycles tracks the objects that workers are handling, so that a handover can stop their cycles. A nil value
// belongs to an operator that hands no objects over, and tracks nothing. It is safe for concurrent use.
type RunningCycles struct {
	mu     sync.Mutex
	cycles map[queue.Key]*runningCycle
}

type runningCycle struct {
	namespace string
	cancel    context.CancelFunc
	ended     context.Context // ends with the cycle
}

// Begin registers a cycle until end is called. Check only afterwards whether the operator may handle the object; otherwise, Stop can miss the cycle.
func (r *RunningCycles) Begin(ctx context.Context, key queue.Key, namespace string) (_ context.Context, end func()) {
	if r == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended, setEnded := context.WithCancel(context.Background())
	c := &runningCycle{namespace: namespace, cancel: cancel, ended: ended}
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
		setEnded()
	}
}

// Stop waits until the cycles of matching objects have ended. After the grace period, it cancels the contexts of the cycles. If some still run
// [queue.AbandonAfter] later, it logs their number.
func (r *RunningCycles) Stop(match func(key queue.Key, namespace string) bool, grace time.Duration, logger *slog.Logger) {
	var running []*runningCycle
	r.mu.Lock()
	for key, c := range r.cycles {
		if match(key, c.namespace) {
			running = append(running, c)
		}
	}
	r.mu.Unlock()
	defer time.AfterFunc(grace, func() {
		for _, c := range running {
			c.cancel()
		}
	}).Stop()
	defer time.AfterFunc(max(0, grace)+queue.AbandonAfter, func() {
		left := slices.DeleteFunc(slices.Clone(running), func(c *runningCycle) bool { return c.ended.Err() != nil })
		if len(left) == 0 {
			return
		}
		logger.Warn("Some handlers ignore that another replica takes their objects over; waiting for them",
			observe.EventKey, observe.LogHandoverDelayed, "objects", len(left))
	}).Stop()
	for _, c := range running {
		<-c.ended.Done()
	}
}
