package watch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// pacing keeps attempts apart and tells about interruptions.
type pacing struct {
	base      time.Duration
	restarted func(Restart)

	mu       sync.Mutex
	failures int
	next     time.Time // the next attempt is not before
	stopped  bool
}

// ended notes the end of a stream that had been working.
func (p *pacing) ended(reason Reason, err error) {
	p.note(Restart{Reason: reason, Err: err, Delay: p.base})
}

// failed notes an attempt that failed, or a stream that brought nothing.
func (p *pacing) failed(reason Reason, err error) {
	p.mu.Lock()
	p.failures++
	n := p.failures
	p.mu.Unlock()
	delay := max(p.base, time.Millisecond)
	for range n - 1 {
		if delay *= 2; delay >= maxBackoff {
			delay = maxBackoff
			break
		}
	}
	// Streams that broke together should not come back together.
	delay += time.Duration(rand.Int64N(int64(delay)/10 + 1))
	if asked, ok := kube.RetryAfter(err); ok {
		delay = max(delay, asked)
	}
	p.note(Restart{Reason: reason, Err: err, Delay: delay, Attempt: n})
}

func (p *pacing) note(r Restart) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.next = time.Now().Add(r.Delay)
	if p.restarted != nil {
		p.restarted(r)
	}
}

// works notes that something came from the server.
func (p *pacing) works() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
}

// stop makes it silent.
func (p *pacing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// wait delays an attempt as needed; it fails if the context ends.
func (p *pacing) wait(ctx context.Context) error {
	p.mu.Lock()
	delay := time.Until(p.next)
	p.mu.Unlock()
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
