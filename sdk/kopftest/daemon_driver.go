package kopftest

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// driver is the part of a [DaemonRun] that does not depend on the object's type.
type driver struct {
	t     printed
	stage *stage
	call  *call // newest call of the daemon; nil before the first call
}

// call is one call of the daemon. Its results are set when ended closes.
type call struct {
	cancel    context.CancelCauseFunc
	goroutine string
	ended     chan struct{}

	err      error
	failure  string // unexpected end, such as a panic; empty if the daemon returned
	reported bool   // the test has read the result
}

func newDriver(t testing.TB, object map[string]any) driver {
	t.Helper()
	return driver{t: printed{t}, stage: newStage(wireOf(t, object), !inBubble(t))}
}

func (r *driver) start(ctx context.Context, daemon func(context.Context) error) {
	r.t.Helper()
	if r.running() {
		r.t.Fatal("kopftest: the daemon is running already")
	}
	r.stage.begin()
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{cancel: cancel, ended: make(chan struct{})}
	begun := make(chan struct{})
	go func() {
		defer close(c.ended)
		defer cancel(nil)
		c.goroutine = goroutine()
		close(begun)
		c.do(func() error {
			err := daemon(ctx)
			if failed := r.stage.send(); failed != nil {
				c.failure = fmt.Sprintf("the patch that the daemon has left cannot be applied: %v", failed)
			}
			return err
		})
	}()
	<-begun
	r.call = c
}

// do calls a function that may panic.
func (c *call) do(f func() error) {
	returned := false
	defer func() {
		switch value := recover(); {
		case value != nil:
			c.failure = fmt.Sprintf("the daemon has panicked: %v\n%s", value, indented(ownFrames(string(debug.Stack()))))
		case !returned:
			c.failure = "the daemon has ended its goroutine, as FailNow and Fatal do; call them only from the goroutine of the test"
		}
	}()
	c.err = f()
	returned = true
}

func (r *driver) running() bool {
	if r.call == nil {
		return false
	}
	select {
	case <-r.call.ended:
		return false
	default:
		return true
	}
}

// NextSleep runs the daemon until its next Sleep, and returns the duration. If the daemon returns instead, the test fails.
func (r *driver) NextSleep() time.Duration {
	r.t.Helper()
	r.goOn()
	const what = "the daemon sleeps"
	d, sleeps := r.await(what, true)
	if !sleeps {
		r.t.Fatalf("kopftest: waited until %s, but it has returned; its error: %v", what, r.call.err)
	}
	return d
}

// Wait runs the daemon until it returns on its own, and returns its error. If the daemon sleeps once more, the test fails,
// except in a bubble of testing/synctest.
func (r *driver) Wait() error {
	r.t.Helper()
	r.goOn()
	const what = "the daemon returns"
	if d, sleeps := r.await(what, r.stage.stepwise); sleeps {
		r.t.Fatalf("kopftest: waited until %s, but it sleeps, for %s: continue it with NextSleep, or end it with Stop", what, d)
	}
	return r.call.err
}

// Signal asks the daemon to finish without cancelling its context, like an operator during the Backoff of
// [kopf.Cancellation]. It does not wait.
func (r *driver) Signal(reason kopf.StopReason) {
	r.t.Helper()
	r.mustRun()
	r.stage.signal(daemons.Reason(reason))
}

// cancel asks the daemon to finish, and cancels its context.
func (r *driver) cancel(reason kopf.StopReason) {
	r.stage.signal(daemons.Reason(reason))
	r.call.cancel(kopf.StopReason(r.stage.Reason()))
}

// Stop asks the daemon to finish, cancels its context, waits until it has returned, and returns its error. In an operator,
// the error of the cancelled context counts as success.
func (r *driver) Stop(reason kopf.StopReason) error {
	r.t.Helper()
	r.mustRun()
	r.cancel(reason)
	r.await("the daemon returns, as it was stopped", false)
	return r.call.err
}

// Object returns the current object, with the patches that the daemon sent by [kopf.DaemonRun.Apply] or by returning.
func (r *driver) Object() *kopf.Object {
	r.t.Helper()
	object, err := r.stage.Live().Tree()
	if err != nil {
		r.t.Fatalf("kopftest: %v", err)
	}
	return viewOf(r.t, object)
}

// Patches returns the patches that the daemon has sent so far, as merge patches; a nil value removes a field.
func (r *driver) Patches() []map[string]any { return r.stage.sentPatches() }

// RefusePatch makes the next [kopf.DaemonRun.Apply] fail.
func (r *driver) RefusePatch(err error) { r.stage.refuse(err) }

// Set changes the value at a path of the daemon's object.
func (r *driver) Set(path kopf.Path, value any) {
	r.t.Helper()
	plain, err := object.Normalize(value)
	if err != nil {
		r.t.Fatalf("kopftest: %s: %v", path, err)
	}
	where, err := object.ParsePath(string(path))
	if err == nil {
		err = where.CheckKeys()
	}
	if err != nil || len(where) == 0 {
		r.t.Fatalf("kopftest: the path %q: %v", path, err)
	}
	p := patch.NewPatch()
	p.Set(where, plain)
	r.change(func(object map[string]any) (map[string]any, error) { return patch.Merged(object, p.Tree()), nil })
}

// Remove removes the value at a path of the daemon's object.
func (r *driver) Remove(path kopf.Path) {
	r.t.Helper()
	r.Set(path, nil)
}

// Replace replaces the daemon's object.
func (r *driver) Replace(object any) {
	r.t.Helper()
	tree := treeOf(r.t, object)
	r.change(func(map[string]any) (map[string]any, error) { return tree, nil })
}

func (r *driver) change(of func(map[string]any) (map[string]any, error)) {
	r.t.Helper()
	if err := r.stage.change(of); err != nil {
		r.t.Fatalf("kopftest: %v", err)
	}
}

func (r *driver) mustRun() {
	r.t.Helper()
	if r.call == nil {
		r.t.Fatal("kopftest: the daemon is not started")
	}
}

// goOn ends the sleep whose duration the test has read.
func (r *driver) goOn() {
	r.t.Helper()
	r.mustRun()
	r.stage.wake()
}

// await waits until the daemon has returned or, with orSleeps, calls Sleep.
func (r *driver) await(what string, orSleeps bool) (d time.Duration, sleeps bool) {
	r.t.Helper()
	patience, cancel := r.patience()
	defer cancel()
	for {
		sleep, news := r.stage.nextSleep()
		if sleep != nil && orSleeps {
			return sleep.duration, true
		}
		select {
		case <-r.call.ended:
			if r.call.failure != "" {
				r.call.reported = true
				r.t.Fatalf("kopftest: waited until %s: %s", what, r.call.failure)
			}
			return 0, false
		case <-news:
		case <-patience.Done():
			r.t.Fatalf("kopftest: waited until %s: %v; the daemon is here:\n%s",
				what, context.Cause(patience), indented(stackOf(r.call.goroutine)))
		}
	}
}

// patience returns a context that limits the wait for a daemon. In a synctest bubble there is no limit: the fake
// clock would exceed any limit at once, and the bubble reports a deadlock.
func (r *driver) patience() (context.Context, context.CancelFunc) {
	if !r.stage.stepwise {
		return context.WithCancel(context.WithoutCancel(r.t.Context()))
	}
	return contextOf(context.WithoutCancel(r.t.Context()), r.t, timeout(r.t))
}

// end stops the daemon with the test.
func (r *driver) end() {
	if r.call == nil {
		return
	}
	r.cancel(kopf.StopOperatorExiting)
	patience, cancel := r.patience()
	defer cancel()
	select {
	case <-r.call.ended:
		if r.call.failure != "" && !r.call.reported {
			r.t.Errorf("kopftest: %s", r.call.failure)
		}
	case <-patience.Done():
		r.t.Errorf("kopftest: the daemon does not return though its context is cancelled; it is here:\n%s",
			indented(stackOf(r.call.goroutine)))
	}
}

// inBubble reports whether a test runs in a bubble of testing/synctest, where the method Deadline panics.
func inBubble(t testing.TB) (bubble bool) {
	limited, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return false
	}
	defer func() { bubble = recover() != nil }()
	limited.Deadline()
	return false
}
