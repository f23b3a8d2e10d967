package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

const (
	maxRetries   = 16              // objects with failures that are retried at the same time
	retryBackoff = 5 * time.Second // after the API server did not return an object
)

// retryJob is an object whose failed handlers are to be called again.
type retryJob struct {
	key     queue.Key
	handler string // the only one; all if empty
}

// retries calls the failed handlers of many objects again, a few objects at a time, so that neither the
// API server nor what the handlers call is flooded. It is safe for concurrent use.
type retries struct {
	ctx    context.Context
	cancel context.CancelFunc
	retry  func(context.Context, retryJob) error
	logger func() *slog.Logger // asked for when it is needed: the startup may replace it

	mu      sync.Mutex
	jobs    []retryJob
	queued  map[queue.Key]bool // of the jobs
	workers sync.WaitGroup
	running int
	stopped bool
}

func newRetries(ctx context.Context, logger func() *slog.Logger, retry func(context.Context, retryJob) error) *retries {
	r := &retries{logger: logger, retry: retry}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// add queues a job, unless one for the object is queued already.
func (r *retries) add(job retryJob) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.queued[job.key] {
		return
	}
	if r.queued == nil {
		r.queued = make(map[queue.Key]bool)
	}
	r.queued[job.key] = true
	r.jobs = append(r.jobs, job)
	if r.running < maxRetries {
		r.running++
		r.workers.Go(r.work)
	}
}

// stop drops what is not begun, and waits for the workers.
func (r *retries) stop() {
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
		job := r.jobs[0]
		r.jobs = r.jobs[1:]
		delete(r.queued, job.key)
		r.mu.Unlock()
		r.do(job)
	}
}

// do carries out a job, however long the API server does not answer.
func (r *retries) do(job retryJob) {
	for warned := false; ; {
		err := r.retry(r.ctx, job)
		if err == nil || r.ctx.Err() != nil {
			return
		}
		if !warned {
			r.logger().Warn("Cannot read an object whose handlers failed; trying until the API server returns it",
				observe.EventKey, observe.LogFailureRetried, "resource", job.key.Resource, "uid", job.key.Object, "error", err)
			warned = true
		}
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(retryBackoff):
		}
	}
}
