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

// RetryJob is a request to retry the failed handlers of an object.
type RetryJob struct {
	Key     queue.Key
	Handler string // id of the only handler to retry; empty for all handlers
}

// retries calls the failed handlers of many objects again, a few objects at a time, so that the retries do not flood the
// API server or external systems. It is safe for concurrent use.
type retries struct {
	ctx    context.Context
	cancel context.CancelFunc
	retry  func(context.Context, RetryJob) error
	logger func() *slog.Logger // returns the current logger, which startup handlers may replace

	mu      sync.Mutex
	order   []queue.Key            // queued objects
	queued  map[queue.Key][]string // ids of handlers to call by the queued object, in this order; an empty id stands for all handlers
	workers sync.WaitGroup
	running int
}

// NewRetries returns an empty queue of retries, which calls the function for each job until the context ends.
func NewRetries(ctx context.Context, logger func() *slog.Logger, retry func(context.Context, RetryJob) error) *retries {
	r := &retries{logger: logger, retry: retry, queued: map[queue.Key][]string{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Add queues a job. It merges the job into a queued one for the same object.
func (r *retries) Add(job RetryJob) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	switch ids, queued := r.queued[job.Key]; {
	case !queued:
		r.order = append(r.order, job.Key)
		r.queued[job.Key] = []string{job.Handler}
		if r.running < maxRetries {
			r.running++
			r.workers.Go(r.work)
		}
	case job.Handler == "":
		r.queued[job.Key] = []string{""}
	case !slices.Contains(ids, "") && !slices.Contains(ids, job.Handler):
		r.queued[job.Key] = append(ids, job.Handler)
	}
}

// Stop drops all queued jobs, and waits for the workers.
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
			r.do(RetryJob{Key: key, Handler: id})
		}
	}
}

// do runs a job, and repeats it until the API server returns the object.
func (r *retries) do(job RetryJob) {
	for warned := false; ; {
		err := r.retry(r.ctx, job)
		if err == nil || r.ctx.Err() != nil {
			return
		}
		if !warned {
			r.logger().Warn("Cannot read an object whose handlers failed; trying until the API server returns it",
				observe.EventKey, observe.LogFailureRetried, "resource", job.Key.Resource, "uid", job.Key.Object, "error", err)
			warned = true
		}
		if Sleep(r.ctx, retryBackoff) != nil {
			return
		}
	}
}
