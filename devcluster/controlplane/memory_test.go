package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestTuneMemory_StartPercentageEndsWithTheStart(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(startGC)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tuneMemory(ctx, false)
		time.Sleep(startPeriod)
		synctest.Wait()
		if got := debug.SetGCPercent(startGC); got != busyGC {
			t.Errorf("after the start, the percentage is %d, not %d", got, busyGC)
		}
	})
}

func TestLoad_IsBusyAtOnceAndIdleAfterCalmPeriod(t *testing.T) {
	at := time.Unix(0, 0)
	l := load{at: at, busy: true}
	allocated := uint64(0)
	pass := func(d time.Duration, rate uint64) bool {
		at = at.Add(d)
		allocated += rate * uint64(d.Milliseconds()) / 1000
		return l.note(allocated, at)
	}
	for range 9 {
		if pass(time.Second, 1<<20) {
			t.Error("idle before the end of the calm period")
		}
	}
	if !pass(time.Second, 1<<20) || l.busy {
		t.Error("still busy after the calm period")
	}
	if pass(time.Second, 1<<20) {
		t.Error("idle a second time")
	}
	if !pass(time.Second, busyRate) || !l.busy {
		t.Error("not busy with many allocations")
	}
	for range 9 {
		pass(time.Second, 1<<20)
	}
	if pass(time.Second, busyRate) || pass(9*time.Second, 0) || !l.busy {
		t.Error("a busy second does not begin the calm period anew")
	}
	if !pass(time.Second, 0) || l.busy {
		t.Error("still busy")
	}
}

func TestAllocatedBytes_Grow(t *testing.T) {
	before := allocatedBytes()
	kept := make([][]byte, 100)
	for i := range kept {
		kept[i] = make([]byte, 64<<10)
	}
	if got := allocatedBytes() - before; got < 100*64<<10 {
		t.Errorf("allocated %d bytes, counted %d", len(kept)*64<<10, got)
	}
}
