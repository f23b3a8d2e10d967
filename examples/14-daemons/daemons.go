// Package daemons accompanies objects in the background.
package daemons

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// The times, so that the tests need not wait.
var (
	retryDelay = time.Second      // between the attempts
	pingPeriod = 5 * time.Second  // between the pings
	pingTime   = 30 * time.Second // how long the polite one pings
	grace      = time.Second      // how long the impolite one may go on after it was asked to end
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
	kopf.Daemon(r, kex, polite)
	kopf.Daemon(r, kex, cancellable,
		kopf.CancellationBackoff(grace), kopf.CancellationTimeout(time.Second),
		kopf.Annotations{"someannotation": "somevalue"})
}

// polite finishes when it is asked to, or by itself after some time.
func polite(_ context.Context, d *kopf.DaemonRun[Example]) error {
	if d.Retry < 3 {
		d.Patch.Set("status.message", fmt.Sprintf("Failed %d times.", d.Retry+1))
		return kopf.Temporaryf(retryDelay, "simulated failure")
	}
	for start := time.Now(); time.Since(start) < pingTime && d.Sleep(pingPeriod); {
		// The object is as it is now, not as it was when the daemon was started.
		d.Logger.Info("=> Ping", "field", d.Object().Spec.Field, "retry", d.Retry)
	}
	d.Patch.Set("status.message", "Accompanying is finished.")
	return nil
}

// cancellable knows nothing but its context, which ends after the grace.
func cancellable(ctx context.Context, d *kopf.DaemonRun[Example]) error {
	tick := time.NewTicker(pingPeriod)
	defer tick.Stop()
	for {
		d.Logger.Info("=> Tick", "field", d.Object().Spec.Field)
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.Logger.Info("=> Bye", "because", context.Cause(ctx))
			return nil
		}
	}
}
