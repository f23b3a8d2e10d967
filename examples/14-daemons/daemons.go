// Package daemons runs background goroutines for objects.
package daemons

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// The times are variables, so that the tests can shorten them.
var (
	retryDelay = time.Second      // the delay between attempts
	pingPeriod = 5 * time.Second  // the interval of the pings
	pingTime   = 30 * time.Second // time for which polite pings
	grace      = time.Second      // time for which cancellable may continue before its context is cancelled
)

// Example has the fields that the handlers read.
type Example struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.Daemon(r, kex, polite)
	kopf.Daemon(r, kex, cancellable,
		kopf.Cancellation{Backoff: grace, Timeout: time.Second},
		kopf.Annotations{"someannotation": "somevalue"})
}

// polite stops when it is asked to, or after pingTime.
func polite(_ context.Context, d *kopf.DaemonRun[Example]) error {
	if d.Retry < 3 {
		d.Patch.Set("status.message", fmt.Sprintf("Failed %d times.", d.Retry+1))
		return kopf.Temporaryf(retryDelay, "simulated failure")
	}
	for start := time.Now(); time.Since(start) < pingTime && d.Sleep(pingPeriod); {
		// Object returns the current object, not the one at the start of the daemon.
		d.Logger.Info("=> Ping", "field", d.Object().Spec.Field, "retry", d.Retry)
	}
	d.Patch.Set("status.message", "Accompanying is finished.")
	return nil
}

// cancellable uses only its context, which is cancelled after the grace period.
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
