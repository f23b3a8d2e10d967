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
	jobs    []*objectRetry
	queued  map[queue.Key]*objectRetry // jobs by their objects
	workers sync.WaitGroup
	running int
	stopped bool
}

// objectRetry is the queued retry of one object.
type objectRetry struct {
	key      queue.Key
	handlers []string // ids of handlers to call, in this order; an empty id stands for all handlers
}

// include adds a handler; an empty id stands for all handlers.
func (o *objectRetry) include(handler string) {
	switch {
	case handler == "":
		o.handlers = []string{""}
	case !slices.Contains(o.handlers, "") && !slices.Contains(o.handlers, handler):
		o.handlers = append(o.handlers, handler)
	}
}

// NewRetries returns an empty queue of retries, which calls the function for each job until the context ends.
func NewRetries(ctx context.Context, logger func() *slog.Logger, retry func(context.Context, RetryJob) error) *retries {
	r := &retries{logger: logger, retry: retry}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Add queues a job. It merges the job into a queued one for the same object.
func (r *retries) Add(job RetryJob) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	if queued := r.queued[job.Key]; queued != nil {
		queued.include(job.Handler)
		return
	}
	if r.queued == nil {
		r.queued = make(map[queue.Key]*objectRetry)
	}
	one := &objectRetry{key: job.Key, handlers: []string{job.Handler}}
	r.queued[job.Key] = one
	r.jobs = append(r.jobs, one)
	if r.running < maxRetries {
		r.running++
		r.workers.Go(r.work)
	}
}

// Stop drops all queued jobs, and waits for the workers.
func (r *retries) Stop() {
	r.cancel()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.workers.Wait()
}

func (r *retries) work() {
	for {
		r.mu.Lock()
		if len(r.jobs) == 0 || r.stopped || r.ctx.Err() != nil {
			r.running--
			r.mu.Unlock()
			return
		}
		one := r.jobs[0]
		r.jobs = r.jobs[1:]
		delete(r.queued, one.key)
		r.mu.Unlock()
		for _, handler := range one.handlers {
			r.do(RetryJob{Key: one.key, Handler: handler})
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
