// Package timers calls functions periodically for each object.
package timers

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// second is the unit of all times, so that the tests can shorten it.
var second = time.Second

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.Timer(r, kex, ping, kopf.Idle(5*second), kopf.Interval(2*second))
	kopf.Timer(r, kex, slowPing, kopf.Idle(10*second), kopf.Interval(4*second), kopf.FixedRate())
	kopf.Timer(r, kex, count, kopf.InitialDelay(second), kopf.Interval(2*second), kopf.RetryDelay(second))
}

// ping is called while the object has not changed for some time.
func ping(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Ping", "field", t.Object.Get("spec.field"))
	return nil
}

// slowPing does the same with a sharp interval, which includes the time of the call.
func slowPing(ctx context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Slow ping", "field", t.Object.Get("spec.field"))
	select {
	case <-time.After(second):
	case <-ctx.Done(): // the object is deleted, or the operator stops
	}
	return nil
}

// ticks is the memo of the timer: it is kept in memory only.
type ticks struct{ n int }

// count ticks regardless of changes of the object. Every third tick needs a second attempt. The
// result is stored in the object's status.
func count(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	counted := kopf.MemoOf[ticks](t.Memo)
	if counted.n%3 == 2 && t.Retry == 0 {
		return kopf.Temporaryf(second, "simulated failure")
	}
	counted.n++
	t.Result = map[string]int{"ticks": counted.n}
	return nil
}
