package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The GOGC percentages: how much the process may allocate before the garbage collector runs again.
const (
	// startGC is for the start, which allocates a lot.
	startGC = 400
	// busyGC is for the time of many requests, in which the garbage collector would otherwise take a quarter of the
	// CPU time.
	busyGC = 200
	// idleGC is for the time between, which is most of it: other processes can use the memory.
	idleGC = 75
	// copyGC is for a copy, always. Besides it, the whole plan runs: its operator, and often the user's cluster.
	copyGC = 150
)

const (
	// startPeriod is the time until the caches of all controllers are filled.
	startPeriod = 4 * time.Second
	// busyRate is how much a busy process allocates in a second. An idle one allocates less than a tenth of that.
	busyRate = 32 << 20
	// calmPeriod is how long a process has to allocate little until it is idle.
	calmPeriod = 10 * time.Second
	ratePeriod = time.Second
)

// tuneMemory uses more memory for a faster start, and while there is much to do. It does nothing if the user has set
// GOGC.
func tuneMemory(ctx context.Context, copied bool) {
	switch {
	case os.Getenv("GOGC") != "":
		return
	case copied:
		debug.SetGCPercent(copyGC)
		return
	}
	debug.SetGCPercent(startGC)
	go func() {
		if !pause(ctx, startPeriod) {
			return
		}
		debug.SetGCPercent(busyGC)
		load := load{allocated: allocatedBytes(), at: time.Now(), busy: true}
		for pause(ctx, ratePeriod) {
			changed := load.note(allocatedBytes(), time.Now())
			switch {
			case changed && load.busy:
				debug.SetGCPercent(busyGC)
			case changed:
				debug.SetGCPercent(idleGC)
				debug.FreeOSMemory()
			}
		}
	}()
}

// pause waits, and reports whether the context has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// allocatedBytes returns how much the process has allocated since its start.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// load detects whether a process is busy or idle.
type load struct {
	allocated uint64 // the bytes at the last note
	at        time.Time
	busy      bool
	calm      time.Duration // time for which it has allocated little
}

// note takes the bytes that the process has allocated since its start, and reports whether it has become busy or idle.
func (l *load) note(allocated uint64, at time.Time) (changed bool) {
	passed := at.Sub(l.at)
	much := float64(allocated-l.allocated) >= busyRate*passed.Seconds()
	l.allocated, l.at = allocated, at
	l.calm += passed
	if much {
		l.calm = 0
	}
	was := l.busy
	l.busy = much || l.busy && l.calm < calmPeriod
	return l.busy != was
}
