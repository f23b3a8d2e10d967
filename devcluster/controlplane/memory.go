package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// startGC collects less while the cluster starts, which is all allocation.
	startGC = 400
	// runGC collects more afterwards: the process is idle most of the time, and others
	// on the laptop can use the memory.
	runGC = 75
	// startPeriod is until the caches of all controllers are filled.
	startPeriod = 4 * time.Second
)

// tuneMemory trades memory for a quick start. A user's GOGC is left alone.
func tuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(startGC)
	timer := time.AfterFunc(startPeriod, func() {
		debug.SetGCPercent(runGC)
		debug.FreeOSMemory()
	})
	context.AfterFunc(ctx, func() { timer.Stop() })
}
