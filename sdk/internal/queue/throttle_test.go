package queue

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type vector struct {
	Kind     string    `json:"kind"`
	Delays   []float64 `json:"delays"`
	Outcomes string    `json:"outcomes"` // E for an error, O for a success
	Result   []run     `json:"result"`
}

type run struct {
	Ran    bool      `json:"ran"`
	Sleeps []float64 `json:"sleeps"`
}

func seconds(all []float64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for _, s := range all {
			if !yield(time.Duration(s * float64(time.Second))) {
				return
			}
		}
	}
}

func TestVectorsThrottling(t *testing.T) {
	vectors.Run(t, "timing_peering_retry.json", func(_ *testing.T, v *vector) error {
		if v.Kind != "throttle" {
			return vectors.Skip()
		}
		var throttler Throttler
		now := time.Unix(1700000000, 0)
		var got []run
		for _, outcome := range v.Outcomes {
			r := run{Ran: throttler.Remaining(now) == 0, Sleeps: []float64{}}
			if outcome == 'O' {
				throttler.Succeeded()
			} else if delay := throttler.Failed(now, seconds(v.Delays)); delay > 0 {
				r.Sleeps = append(r.Sleeps, delay.Seconds())
				now = now.Add(delay)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(v.Result, got); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
}

func TestThrottler_InterruptedDelayContinues(t *testing.T) {
	var throttler Throttler
	now := time.Unix(1700000000, 0)
	throttler.Failed(now, DefaultErrorDelays)
	throttler.Failed(now, DefaultErrorDelays)
	if got := throttler.Failed(now, DefaultErrorDelays); got != 2*time.Second {
		t.Error(got)
	}
	if got := throttler.Remaining(now.Add(500 * time.Millisecond)); got != 1500*time.Millisecond {
		t.Error(got)
	}
	if got := throttler.Remaining(now.Add(2 * time.Second)); got != 0 {
		t.Error(got)
	}
	if !throttler.Succeeded() || throttler.Succeeded() {
		t.Error("a recovery is told once")
	}
}

func TestThrottler_EndlessDelays(t *testing.T) {
	var throttler Throttler
	endless := func(yield func(time.Duration) bool) {
		for yield(time.Second) {
		}
	}
	for range 100 {
		if got := throttler.Failed(time.Unix(0, 0), endless); got != time.Second {
			t.Fatal(got)
		}
	}
}

func TestDefaultErrorDelays_EndAtTenMinutes(t *testing.T) {
	all := slices.Collect(DefaultErrorDelays)
	for i, delay := range all[2:] {
		if delay != all[i]+all[i+1] {
			t.Error(i, delay)
		}
	}
	if all[len(all)-1] != 610*time.Second {
		t.Error(all)
	}
}
