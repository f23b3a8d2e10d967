package main

import (
	"testing"
	"time"
)

func TestConcurrency_CountsCallsBetweenBeginAndEnd(t *testing.T) {
	c := &concurrency{}
	for _, line := range []string{"begin-a 1", "live-1 2", "begin-b 3", "end-a 4", "begin-c 5", "end-b 6", "end-c 7"} {
		c.handlerLine(line)
	}
	if most, ended := c.counts(); most != 2 || ended != 3 {
		t.Errorf("%d calls at the same time, %d ended", most, ended)
	}
}

func TestClock_SpreadIsFromFirstToLast(t *testing.T) {
	c := newClock()
	for _, line := range []string{"a 5000", "b 2000", "c 9000", "a 10000"} {
		c.handlerLine(line)
	}
	if got, err := c.spread(3); err != nil || got != 7*time.Microsecond {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := c.spread(4); err == nil {
		t.Error("a missing time is no error")
	}
}
