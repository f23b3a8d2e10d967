// Package timers looks at objects that nobody touches.
package timers

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.Timer(r, kex, ping, kopf.Idle(5*time.Second), kopf.Interval(2*time.Second))
	kopf.Timer(r, kex, slowPing, kopf.Idle(10*time.Second), kopf.Interval(4*time.Second), kopf.Sharp())
}

func ping(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Ping", "field", t.Object.Get("spec.field"))
	return nil
}

func slowPing(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	t.Logger.Info("Slow ping", "field", t.Object.Get("spec.field"))
	return nil
}
