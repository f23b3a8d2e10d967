package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// startGC makes the garbage collector run less often during the start, which allocates a lot.
	startGC = 400
	// runGC makes it run more often afterwards: the process is mostly idle, and other
	// processes can use the memory.
	runGC = 75
	// startPeriod is the time until the caches of all controllers are filled.
	startPeriod = 4 * time.Second
)

// tuneMemory uses more memory for a faster start. It does nothing if the user has set GOGC.
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
