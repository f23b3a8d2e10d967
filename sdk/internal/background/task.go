package background

import (
	"context"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// Task is a daemon or a timer of one object.
type Task struct {
	Handler *handler.Handler
	Patch   *patch.Patch // what the handler changes; the host sends it

	group    *Group
	number   int // in the order of their starts
	logger   *slog.Logger
	stopper  *stopper
	patience patience
	ctx      context.Context
	cancel   context.CancelCauseFunc
	done     chan struct{}
}

// patience is how long to wait for a task that is to end.
type patience struct {
	backoff time.Duration // until its context is cancelled
	timeout time.Duration // from then until it is abandoned, if limited
	limited bool
	polling time.Duration
}

func newTask(g *Group, h *handler.Handler, number int) *Task {
	t := &Task{
		Handler: h, Patch: patch.NewPatch(),
		group: g, number: number, logger: g.logger, stopper: newStopper(), done: make(chan struct{}),
		patience: patience{polling: g.settings.Polling},
	}
	t.ctx, t.cancel = context.WithCancelCause(g.ctx)
	if h.CancellationBackoff != nil {
		t.patience.backoff = *h.CancellationBackoff
	}
	if h.CancellationTimeout != nil {
		t.patience.timeout, t.patience.limited = *h.CancellationTimeout, true
	}
	if h.CancellationPolling != nil {
		t.patience.polling = *h.CancellationPolling
	}
	return t
}

// String names the task as the log does.
func (t *Task) String() string { return t.Handler.String() }

// Live returns the newest version of the object.
func (t *Task) Live() *wire.Object { return t.group.Live() }

// Newer returns a channel that closes when there is a newer version than now.
func (t *Task) Newer() <-chan struct{} { return t.group.Newer() }

// Stopping returns a channel that closes when the task should end.
func (t *Task) Stopping() <-chan struct{} { return t.stopper.stopping }

// Reason tells why the task should end; 0 if it should not.
func (t *Task) Reason() Reason { return t.stopper.why() }

// Sleep waits for a while. It returns false at once when the task should end.
func (t *Task) Sleep(d time.Duration) bool {
	if t.stopped() {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.stopper.stopping:
		return false
	}
}

func (t *Task) stopped() bool {
	select {
	case <-t.stopper.stopping:
		return true
	default:
		return false
	}
}

func (t *Task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// cancelOnce cancels the context of the handler. The cause is the reason of the stop.
func (t *Task) cancelOnce() {
	if t.stopper.reach(cancelled) {
		t.cancel(t.stopper.why())
	}
}

func (t *Task) run() {
	if t.sleepInitially() {
		if t.Handler.Family == handler.Timer {
			t.tick()
		} else {
			t.daemon()
		}
	}
	t.cancel(nil)
	t.group.forget(t)
	close(t.done)
	if t.stopped() {
		t.group.host.Ended(t)
	}
}

func (t *Task) sleepInitially() bool {
	if t.Handler.InitialDelay == nil {
		return !t.stopped()
	}
	return t.Sleep(*t.Handler.InitialDelay)
}

// progress is how far the handler has come since its last success. It is in memory only:
// the next operator begins anew.
type progress struct {
	retries int
	started time.Time
}

// attempt calls the handler once, delivers what came of it, and tells when to try again.
// It is done if that is never.
func (t *Task) attempt(p *progress) (retryIn time.Duration, done bool) {
	if p.retries == 0 {
		p.started = time.Now()
	}
	out := t.group.host.Attempt(t.ctx, t, p.retries, p.started)
	p.retries++
	t.group.host.Deliver(t.ctx, t, out)
	if out.Final {
		return 0, true
	}
	if out.Delay != nil {
		retryIn = *out.Delay
	}
	return retryIn, false
}

// daemon calls the handler until it has ended for good, and tries again after errors.
func (t *Task) daemon() {
	var p progress
	for !t.stopped() {
		delay, done := t.attempt(&p)
		if done {
			break
		}
		t.Sleep(delay)
	}
	if t.stopped() {
		t.logger.Debug(t.String() + " has exited on request and will not be retried or restarted.")
	} else {
		t.logger.Debug(t.String() + " has exited on its own and will not be retried or restarted.")
	}
}
