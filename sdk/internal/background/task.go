package background

import (
	"context"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
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

// Wrote notes a version of the object that the task has made.
func (t *Task) Wrote(object *wire.Object) { t.group.Wrote(object) }

// Stopping returns a channel that closes when the task should end.
func (t *Task) Stopping() <-chan struct{} { return t.stopper.stopping }

// Reason tells why the task should end; 0 if it should not.
func (t *Task) Reason() Reason { return t.stopper.why() }

// Sleep waits for a while. It returns false at once when the task should end.
func (t *Task) Sleep(d time.Duration) bool { return t.sleep(d, nil) }

// sleep is the same, but another channel can end it early.
func (t *Task) sleep(d time.Duration, early <-chan struct{}) bool {
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
	case <-early:
	case <-t.stopper.stopping:
		return false
	}
	return true
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

// cancelOnce cancels the context of the handler. The cause is the reason of the stop. It
// tells whether that was not done before.
func (t *Task) cancelOnce() bool {
	first := t.stopper.reach(cancelled)
	if first {
		t.cancel(t.cause())
	}
	return first
}

func (t *Task) cause() error {
	reason := t.stopper.why()
	if t.group.settings.Cause == nil {
		return reason
	}
	return t.group.settings.Cause(reason)
}

func (t *Task) run() {
	defer t.end() // also if the handler has ended the goroutine
	if !t.sleepInitially() {
		return
	}
	if t.Handler.Family == handler.Timer {
		t.tick()
	} else {
		t.daemon()
	}
	how := " has exited on its own and will not be retried or restarted."
	if t.stopped() {
		how = " has exited on request and will not be retried or restarted."
	}
	t.logger.Debug(t.String() + how)
}

func (t *Task) end() {
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

// attempt calls the handler once, delivers what came of it, and waits until it is to be
// tried again. If that is never, it is final.
func (t *Task) attempt(p *progress) outcome.Outcome {
	if p.retries == 0 {
		p.started = time.Now()
	}
	out := t.group.host.Attempt(t.ctx, t, p.retries, p.started)
	p.retries++
	hurried := t.group.hurry()
	t.group.host.Deliver(t.ctx, t, out)
	if !out.Final && out.Delay != nil {
		t.sleep(*out.Delay, hurried)
	}
	return out
}

// daemon calls the handler until it has ended for good, and tries again after errors.
func (t *Task) daemon() {
	var p progress
	for !t.stopped() {
		if out := t.attempt(&p); out.Final {
			return
		}
	}
}
