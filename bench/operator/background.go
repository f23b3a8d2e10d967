package main

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// backgroundVariable makes the operator run the named kinds of tasks for each object, "daemons" or
// "daemons,timers", and no change handlers.
const backgroundVariable = "KOPF_BENCH_BACKGROUND"

// interval is the interval of the timer.
const interval = time.Minute

var ticks atomic.Int64

// registerBackground registers a daemon, and a timer if the kinds have it.
func registerBackground(r *kopf.Registry, examples kopf.Selector, kinds string) {
	kopf.Daemon(r, examples, runDaemon)
	if strings.Contains(kinds, "timers") {
		kopf.Timer(r, examples, tick, kopf.Interval(interval))
	}
	printState(func() {})
}

func runDaemon(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
	printCall(d.Name)
	for d.Sleep(time.Hour) {
		d.Logger.Info("=> Ping")
	}
	return nil
}

func tick(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	if t.Object.Get("spec.field") != nil {
		ticks.Add(1)
	}
	return nil
}
