package main

import (
	"testing"
	"time"
)

func TestParseMemory_ReturnsBytes(t *testing.T) {
	got, err := parseMemory("Name:\toperator\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nRssAnon:\t     512 kB\n")
	if want := (memory{resident: 1 << 20, peak: 2 << 20, heap: 1 << 19}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMemory("State:\tZ (zombie)\n"); err == nil {
		t.Error("a dead process has memory")
	}
}

func TestParseCPU_AcceptsAnyProcessName(t *testing.T) {
	got, err := parseCPU("4711 (a b) c) S 1 4711 4711 0 -1 4194560 1 0 0 0 25 5 0 0 20 0")
	if err != nil || got != 300*time.Millisecond {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := parseCPU("4711 (x) S"); err == nil {
		t.Error("a line that is cut off is understood")
	}
}
