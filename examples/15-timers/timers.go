// Package timers looks at objects that nobody touches.
package timers

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// second is the unit of all times here, so that the tests need not wait.
var second = time.Second

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.Timer(r, kex, ping, kopf.Idle(5*second), kopf.Interval(2*second))
	kopf.Timer(r, kex, slowPing, kopf.Idle(10*second), kopf.Interval(4*second), kopf.Sharp())
	kopf.Timer(r, kex, count, kopf.InitialDelay(second), kopf.Interval(2*second), kopf.Backoff(second))
}

// ping begins when nobody has changed the object for a while.
func ping(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Ping", "field", t.Object.Get("spec.field"))
	return nil
}

// slowPing does as well, and then keeps to its rhythm, however long it takes.
func slowPing(ctx context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Slow ping", "field", t.Object.Get("spec.field"))
	select {
	case <-time.After(second):
	case <-ctx.Done(): // the object is deleted, or the operator stops
	}
	return nil
}

// ticks is what the timer remembers of the object, in memory alone.
type ticks struct{ n int }

// count ticks from the beginning, whatever happens to the object. Every third tick needs
// a second attempt. The result is what kubectl shows of the object's status.
func count(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	counted := kopf.MemoOf[ticks](t.Memo)
	if counted.n%3 == 2 && t.Retry == 0 {
		return kopf.Temporaryf(second, "simulated failure")
	}
	counted.n++
	t.Result = map[string]int{"ticks": counted.n}
	return nil
}
