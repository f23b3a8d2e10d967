package handlers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// delayOf returns the delay after the attempt number retries+1 of a handler has failed.
func delayOf(t *testing.T, limits Limits, retries int) time.Duration {
	t.Helper()
	out, _ := Decide(errBoom, nil, limits, retries, 0, "Handler 'h'")
	if out.Final || out.Delay == nil {
		t.Fatalf("attempt %d: %+v", retries+1, out)
	}
	return *out.Delay
}

func TestGrowingBackoff_DoublesUpToTheMaximum(t *testing.T) {
	limits := Limits{Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: "uid create"}
	for retries, middle := range map[int]time.Duration{
		0: time.Minute, 1: 2 * time.Minute, 2: 4 * time.Minute, 3: 8 * time.Minute, 4: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		delay := delayOf(t, limits, retries)
		if delay < middle*4/5 || delay > middle*6/5 || delay != delay.Truncate(time.Millisecond) {
			t.Errorf("attempt %d: %s, want %s and up to a fifth less or more, in milliseconds", retries+1, delay, middle)
		}
	}
}

// Records on objects outlive the process: the jitter must not change between releases, either.
func TestGrowingBackoff_IsTheSameInEachProcess(t *testing.T) {
	limits := Limits{Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: "7f1c6f0e-5b0f-4ad7-9d0a-0c8f7d1f3f10 create"}
	var delays []string
	for retries := range 5 {
		delays = append(delays, delayOf(t, limits, retries).String())
	}
	if got, want := strings.Join(delays, " "), "50.78s 1m40.52s 3m27.591s 8m21.97s 11m40.746s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := limits
	other.Seed = "7f1c6f0e-5b0f-4ad7-9d0a-0c8f7d1f3f11 create"
	if delayOf(t, limits, 0) == delayOf(t, other, 0) {
		t.Error("another object has the same delay")
	}
}

// After an outage, all objects have failed in the same second.
func TestGrowingBackoff_SpreadsObjectsThatFailTogether(t *testing.T) {
	const objects = 5000
	var rounds [8]map[time.Duration]int // numbers of calls in each second
	hour := 0
	for i := range objects {
		limits := Limits{Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: fmt.Sprintf("00000000-0000-0000-0000-%012d create", i)}
		at := time.Duration(0)
		for round := range rounds {
			if rounds[round] == nil {
				rounds[round] = map[time.Duration]int{}
			}
			at += delayOf(t, limits, round)
			rounds[round][at/time.Second]++
			if at < time.Hour {
				hour++
			}
		}
		if at < time.Hour {
			hour += int((time.Hour - at) / (8 * time.Minute)) // the most that can follow
		}
	}
	for round, seconds := range rounds {
		most := 0
		for _, calls := range seconds {
			most = max(most, calls)
		}
		t.Logf("round %d: at most %d calls in a second", round+1, most)
		if round >= 2 && most > objects*2/100 {
			t.Errorf("round %d: %d of %d objects in the same second", round+1, most, objects)
		}
	}
	if hour > 45_000 {
		t.Errorf("%d calls in an hour", hour)
	}
}

func TestGrowingBackoff_LimitsLookAheadWithTheSameDelay(t *testing.T) {
	limits := Limits{Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: "uid create"}
	delay := delayOf(t, limits, 3)
	limits.Timeout = new(time.Hour)
	if out, _ := Decide(errBoom, nil, limits, 3, time.Hour-delay-1, "Handler 'h'"); out.Final {
		t.Errorf("the next attempt would begin in time: %+v", out)
	}
	if out, _ := Decide(errBoom, nil, limits, 3, time.Hour-delay, "Handler 'h'"); !errors.Is(out.Err, ErrTimeout) {
		t.Errorf("the next attempt would begin too late: %+v", out)
	}
}

func TestGrowingBackoff_IsLogged(t *testing.T) {
	limits := Limits{Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: "uid create"}
	_, line := Decide(errBoom, nil, limits, 0, 0, "Handler 'h'")
	if want := fmt.Sprintf("Handler 'h' failed with an exception and will try again in %v seconds (growing up to 600): boom", delayOf(t, limits, 0).Seconds()); line.Message != want {
		t.Errorf("got %q, want %q", line.Message, want)
	}
}

func TestGrowingBackoff_AppliesToRetriedErrorsOnly(t *testing.T) {
	limits := Limits{Errors: ErrorsPermanent, Backoff: new(time.Minute), MaxBackoff: new(10 * time.Minute), Seed: "uid reconcile"}
	want := delayOf(t, Limits{Backoff: limits.Backoff, MaxBackoff: limits.MaxBackoff, Seed: limits.Seed}, 2)
	if out, _ := Decide(fmt.Errorf("apply: %w", AsRetried(errBoom)), nil, limits, 2, 0, "Handler 'h'"); out.Final || *out.Delay != want {
		t.Errorf("a request that failed: %+v, want %s", out, want)
	}
	for name, err := range map[string]error{"a delay": AsTemporary(errBoom, DefaultBackoff), "no delay": AsTemporary(errBoom, 0)} {
		if out, _ := Decide(err, nil, limits, 2, 0, "Handler 'h'"); out.Final || *out.Delay != DefaultBackoff {
			t.Errorf("a temporary error with %s: %+v", name, out)
		}
	}
}
