package main

import (
	"testing"
	"time"
)

func TestParseMeter_SplitsBusyAndIdle(t *testing.T) {
	got, err := parseMeter("cpu  100 0 50 1000 10 0 5 5 0 0\ncpu0 1 2 3\n")
	if want := (meter{busy: 1600 * time.Millisecond, idle: 10100 * time.Millisecond}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMeter("intr 1"); err == nil {
		t.Error("another file is understood")
	}
}
