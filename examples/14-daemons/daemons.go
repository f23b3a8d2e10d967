// Package daemons accompanies objects in the background.
package daemons

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Example is what the handlers read of an object.
type Example struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
}

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.Daemon(r, kex, polite, kopf.Backoff(3*time.Second))
	kopf.Daemon(r, kex, cancellable, kopf.Backoff(3*time.Second),
		kopf.CancellationBackoff(time.Second), kopf.CancellationTimeout(500*time.Millisecond),
		kopf.Annotations{"someannotation": "somevalue"})
}

// polite finishes when asked to, or after three attempts and 30 seconds.
func polite(_ context.Context, d *kopf.DaemonRun[Example]) error {
	if d.Retry < 3 {
		d.Patch.Set("status.message", fmt.Sprintf("Failed %d times.", d.Retry+1))
		return kopf.Temporaryf(time.Second, "simulated failure")
	}
	for start := time.Now(); time.Since(start) < 30*time.Second && d.Sleep(5*time.Second); {
		d.Logger.Info("=> Ping", "field", d.Object().Spec.Field, "retry", d.Retry)
	}
	d.Patch.Set("status.message", "Accompanying is finished.")
	return nil
}

// cancellable knows nothing but its context.
func cancellable(ctx context.Context, d *kopf.DaemonRun[Example]) error {
	if d.Retry < 3 {
		return kopf.Temporaryf(time.Second, "simulated failure")
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		d.Logger.Info("=> Ping", "field", d.Object().Spec.Field)
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.Logger.Info("bye", "because", context.Cause(ctx))
			return nil
		}
	}
}
