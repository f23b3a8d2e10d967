package watch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// maxBackoff limits the delays, which grow with consecutive failures.
const maxBackoff = 10 * time.Second

// backoff delays the attempts to list and to watch, and reports restarts.
type backoff struct {
	base      time.Duration
	restarted func(Restart) // optional

	mu       sync.Mutex
	failures int       // number of failures in a row
	next     time.Time // time of the next attempt
	stopped  bool
}

// ended reports the end of a stream that received something.
func (b *backoff) ended(reason Reason, err error) {
	b.restart(Restart{Reason: reason, Err: err, Delay: b.base})
}

// failed reports an attempt that failed, or a stream that received nothing.
func (b *backoff) failed(reason Reason, err error) {
	b.mu.Lock()
	b.failures++
	n := b.failures
	b.mu.Unlock()
	delay := max(b.base, time.Millisecond)
	for range n - 1 {
		if delay *= 2; delay >= maxBackoff {
			delay = maxBackoff
			break
		}
	}
	// The jitter spreads the restarts of streams that broke together.
	delay += time.Duration(rand.Int64N(int64(delay)/10 + 1))
	if asked, ok := kube.RetryAfter(err); ok {
		delay = max(delay, asked)
	}
	b.restart(Restart{Reason: reason, Err: err, Delay: delay, Attempt: n})
}

func (b *backoff) restart(r Restart) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return
	}
	b.next = time.Now().Add(r.Delay)
	if b.restarted != nil {
		b.restarted(r)
	}
}

// reset forgets the failures after something was received.
func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

// stop ends the reports.
func (b *backoff) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

// wait blocks until the next attempt is due. It returns an error if the context ends.
func (b *backoff) wait(ctx context.Context) error {
	b.mu.Lock()
	delay := time.Until(b.next)
	b.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
