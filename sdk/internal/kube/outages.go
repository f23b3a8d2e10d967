package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// outages logs when requests start to fail and when they succeed again, once for all concurrent requests. It is safe for
// concurrent use.
type outages struct {
	mu      sync.Mutex
	ongoing map[Class]*outage
}

// outage counts the concurrently repeated requests with one class of errors.
type outage struct {
	requests int // number of requests that are being repeated
	failures int
	began    time.Time
}

// begin records that a request is going to be repeated. The caller calls failed after each further failed attempt, and
// end after the last attempt.
func (o *outages) begin(ctx context.Context, logger *slog.Logger, err error, delay time.Duration) (failed func(), end func(error)) {
	class := Classify(err)
	if class == TooManyRequests {
		return func() {}, func(error) {} // throttling is normal, not an outage
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.ongoing[class]
	if out == nil {
		out = &outage{began: time.Now()}
		if o.ongoing == nil {
			o.ongoing = map[Class]*outage{}
		}
		o.ongoing[class] = out
		logger.WarnContext(ctx, "API requests fail; repeating them", "error", err, "status", Status(err), "again in", delay.String())
	}
	out.requests++
	out.failures++
	failed = func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		out.failures++
	}
	end = func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if out.requests--; out.requests > 0 {
			return
		}
		delete(o.ongoing, class)
		switch took := time.Since(out.began).Round(time.Millisecond).String(); {
		case ctx.Err() != nil: // the operator is stopping
		case err == nil:
			logger.InfoContext(ctx, "API requests succeed again", "after", took, "failed attempts", out.failures)
		default:
			logger.WarnContext(ctx, "API requests still fail; giving up", "error", err, "after", took, "failed attempts", out.failures)
		}
	}
	return failed, end
}
