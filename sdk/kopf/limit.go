package kopf

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/limits"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// LimitOption is an option of the handlers whose calls can be limited: [OnCreate], [OnUpdate], [OnField], [OnDelete],
// [OnResume], [OnReconcile] and [Timer].
type LimitOption interface {
	CreateOption
	UpdateOption
	DeleteOption
	ResumeOption
	TimerOption
	ReconcileOption
}

// Limiter is an option that limits the calls of handlers: see [Limit].
type Limiter struct {
	limit handlers.CallLimit
	rated bool
	errs  []func(*config) // errors, reported by the registration of each handler
}

var _ LimitOption = (*Limiter)(nil)

// Limit permits at most n concurrent calls of a handler, counted over all objects. Handlers that are given the same Limiter share
// the limit. An object that waits for a slot occupies no worker, costs no request, and stores nothing. Objects that are being
// deleted come first, then the object that has waited longest. A call keeps its slot until it ends. Sub-handlers run in
// the slot of their parent, and cannot have a Limit. The limit counts the calls of one process: with 4 shards, each in a process,
// the limit is 4 × n. Less than 1 is a registration error. See [Limiting calls].
//
// [Limiting calls]: https://github.com/kopf-dev/kopf/blob/main/docs/performance.md#limiting-the-calls-of-a-handler
func Limit(n int) *Limiter {
	l := &Limiter{limit: handlers.CallLimit{Running: n}}
	if n < 1 {
		l.fail("Limit(%d): want at least 1", n)
	}
	return l
}

// Rate permits at most n calls to start in each period, in even intervals, and returns the limiter. Less than 1 call, a period
// that is not positive, and a second Rate are registration errors.
func (l *Limiter) Rate(n int, per time.Duration) *Limiter {
	switch {
	case l.rated:
		l.fail("Rate is given twice; keep one")
	case n < 1:
		l.fail("Rate(%d, %s): want at least 1 call", n, per)
	case per <= 0:
		l.fail("Rate(%d, %s): want a period that is positive", n, per)
	case per < time.Millisecond:
		l.errs = append(l.errs, func(c *config) { c.duration("Rate", per) })
	}
	l.limit.Rate, l.limit.Per, l.rated = n, per, true
	return l
}

func (l *Limiter) fail(format string, args ...any) {
	l.errs = append(l.errs, func(c *config) { c.fail(format, args...) })
}

func (l *Limiter) apply(c *config) {
	c.giveOnce("Limit")
	if l == nil {
		c.fail("the Limiter is nil; make one with kopf.Limit")
		return
	}
	for _, report := range l.errs {
		report(c)
	}
	c.CallLimit, c.limits = &l.limit, limits.New
}

func (l *Limiter) create(c *config)    { l.apply(c) }
func (l *Limiter) update(c *config)    { l.apply(c) }
func (l *Limiter) field(c *config)     { l.apply(c) }
func (l *Limiter) delete(c *config)    { l.apply(c) }
func (l *Limiter) resume(c *config)    { l.apply(c) }
func (l *Limiter) timer(c *config)     { l.apply(c) }
func (l *Limiter) reconcile(c *config) { l.apply(c) }
