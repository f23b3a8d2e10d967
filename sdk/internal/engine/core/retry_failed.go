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
	maxRetries   = 16              // objects with failures that are retried at the same time
	retryBackoff = 5 * time.Second // after the API server did not return an object
)

// RetryJob is an object whose failed handlers are to be called again.
type RetryJob struct {
	Key     queue.Key
	Handler string // the only one; all if empty
}

// retries calls the failed handlers of many objects again, a few objects at a time, so that neither the
// API server nor what the handlers call is flooded. It is safe for concurrent use.
type retries struct {
	ctx    context.Context
	cancel context.CancelFunc
	retry  func(context.Context, RetryJob) error
	logger func() *slog.Logger // asked for when it is needed: the startup may replace it

	mu      sync.Mutex
	jobs    []*objectRetry
	queued  map[queue.Key]*objectRetry // the jobs
	workers sync.WaitGroup
	running int
	stopped bool
}

// objectRetry is what is queued for one object.
type objectRetry struct {
	key      queue.Key
	handlers []string // to be called in turn; one that is empty stands for all
}

// include adds a handler to those that are called.
func (o *objectRetry) include(handler string) {
	switch {
	case handler == "":
		o.handlers = []string{""}
	case !slices.Contains(o.handlers, "") && !slices.Contains(o.handlers, handler):
		o.handlers = append(o.handlers, handler)
	}
}

// NewRetries returns retries that call the function for each job, until the context ends.
func NewRetries(ctx context.Context, logger func() *slog.Logger, retry func(context.Context, RetryJob) error) *retries {
	r := &retries{logger: logger, retry: retry}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Add queues a job. If one for the object is queued already, that one calls the handlers of both.
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

// Stop drops what is not begun, and waits for the workers.
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

// do carries out a job, however long the API server does not answer.
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
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(retryBackoff):
		}
	}
}
