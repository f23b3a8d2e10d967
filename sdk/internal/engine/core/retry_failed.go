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

const (
	maxRetries   = 16              // limit of objects whose failures are retried at the same time
	retryBackoff = 5 * time.Second // delay after a request that did not return the object
)

// retries calls the failed handlers of many objects again, a few objects at a time, so that the retries do not flood the API server or external
// systems. It is safe for concurrent use.
type retries struct {
	ctx    context.Context
	cancel context.CancelFunc
	retry  func(ctx context.Context, key queue.Key, handler string) error
	logger func() *slog.Logger // returns the current logger, which startup handlers may replace

	mu      sync.Mutex
	order   []queue.Key            // queued objects
	queued  map[queue.Key][]string // ids of handlers to call by the queued object, in this order; an empty id stands for all handlers
	workers sync.WaitGroup
	running int
}

// NewRetries returns an empty queue of retries, which calls the function for each object and handler until the context ends.
func NewRetries(ctx context.Context, logger func() *slog.Logger, retry func(ctx context.Context, key queue.Key, handler string) error) *retries {
	r := &retries{logger: logger, retry: retry, queued: map[queue.Key][]string{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Add queues a retry of one failed handler of an object, or of all failed handlers if its id is empty.
func (r *retries) Add(key queue.Key, handler string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	switch ids, queued := r.queued[key]; {
	case !queued:
		r.order = append(r.order, key)
		r.queued[key] = []string{handler}
		if r.running < maxRetries {
			r.running++
			r.workers.Go(r.work)
		}
	case handler == "":
		r.queued[key] = []string{""}
	case !slices.Contains(ids, "") && !slices.Contains(ids, handler):
		r.queued[key] = append(ids, handler)
	}
}

// Stop drops all queued retries, and waits for the workers.
func (r *retries) Stop() {
	r.mu.Lock() // afterwards, Add starts no worker
	r.cancel()
	r.mu.Unlock()
	r.workers.Wait()
}

func (r *retries) work() {
	for {
		r.mu.Lock()
		if len(r.order) == 0 || r.ctx.Err() != nil {
			r.running--
			r.mu.Unlock()
			return
		}
		key := r.order[0]
		ids := r.queued[key]
		r.order = r.order[1:]
		delete(r.queued, key)
		r.mu.Unlock()
		for _, id := range ids {
			r.do(key, id)
		}
	}
}

// do retries a handler, and repeats the retry until the API server returns the object.
func (r *retries) do(key queue.Key, handler string) {
	for warned := false; ; warned = true {
		err := r.retry(r.ctx, key, handler)
		if err == nil || r.ctx.Err() != nil {
			return
		}
		if !warned {
			r.logger().Warn("Cannot read an object whose handlers failed; trying until the API server returns it",
				observe.EventKey, observe.LogFailureRetried, "resource", key.Resource, "uid", key.Object, "error", err)
		}
		if Sleep(r.ctx, retryBackoff) != nil {
			return
		}
	}
}
