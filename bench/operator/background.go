package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// backgroundVariable makes the operator accompany objects, instead of handling changes.
const backgroundVariable = "KOPF_BENCH_BACKGROUND"

// interval is that of the timer: in a minute, each object has had its tick.
const interval = time.Minute

var ticks atomic.Int64

// registerBackground gives each object a daemon and a timer. SIGUSR2 makes the operator
// tell what goes on in it.
func registerBackground(r *kopf.Registry, examples kopf.Selector) {
	kopf.Daemon(r, examples, accompany)
	kopf.Timer(r, examples, look, kopf.Interval(interval))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		for range signals {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println("goroutines", runtime.NumGoroutine(), "ticks", ticks.Load(), "heap", m.HeapAlloc, "stacks", m.StackInuse)
		}
	}()
}

func accompany(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
	tell(d.Name)
	for d.Sleep(time.Hour) {
		d.Logger.Info("=> Ping")
	}
	return nil
}

func look(_ context.Context, t *kopf.TimerTick[kopf.Object]) error {
	if t.Object.Get("spec.field") != nil {
		ticks.Add(1)
	}
	return nil
}
