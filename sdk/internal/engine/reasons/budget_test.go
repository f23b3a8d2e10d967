package reasons

import (
	"slices"
	"testing"
	"time"
)

// passes returns the times of the passes for reasons that come at the given times, in milliseconds. An urgent reason is a negative
// time.
func passes(times ...int) (began []int) {
	var b Budget
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	due := -1
	begin := func(ms int) {
		b.Spend(at(ms))
		began, due = append(began, ms), -1
	}
	for _, ms := range times {
		urgent := ms < 0
		ms = max(ms, -ms)
		if due >= 0 && due <= ms {
			begin(due)
		}
		wait := int(b.Wait(at(ms)).Milliseconds())
		switch {
		case urgent || wait == 0:
			begin(ms)
		case due < 0:
			due = ms + wait
		}
	}
	if due >= 0 {
		begin(due)
	}
	return began
}

func every(step, until int) (all []int) {
	for ms := step; ms <= until; ms += step {
		all = append(all, ms)
	}
	return all
}

func TestBudget(t *testing.T) {
	for name, tt := range map[string]struct{ reasons, want []int }{
		"few changes":                     {[]int{100, 200}, []int{100, 200}},
		"a third change":                  {[]int{100, 200, 300}, []int{100, 200, 3100}},
		"40 changes in 10 s":              {every(250, 10_000), []int{250, 500, 3250, 6250, 9250, 12_250}},
		"later changes are quick again":   {[]int{100, 200, 300, 20_000, 20_100}, []int{100, 200, 3100, 20_000, 20_100}},
		"urgent reasons do not wait":      {[]int{-100, -200, -300, -400}, []int{100, 200, 300, 400}},
		"urgent reasons spend":            {[]int{-100, 200, 300}, []int{100, 200, 3100}},
		"an urgent reason folds":          {[]int{100, 200, 300, -400}, []int{100, 200, 400}},
		"many urgent reasons delay by 3s": {[]int{-100, -200, -300, -400, -500, 600}, []int{100, 200, 300, 400, 500, 3500}},
	} {
		if got := passes(tt.reasons...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: passes at %v, want %v", name, got, tt.want)
		}
	}
}

func TestBudget_ClockSetBack(t *testing.T) {
	var b Budget
	now := time.Unix(1_000_000, 0)
	b.Spend(now)
	b.Spend(now)
	if wait := b.Wait(now.Add(-time.Hour)); wait != interval {
		t.Errorf("the pass waits %s", wait)
	}
	b.Spend(now.Add(-time.Hour))
	if wait := b.Wait(now.Add(-time.Hour)); wait != interval {
		t.Errorf("the next pass waits %s", wait)
	}
	if wait := b.Wait(now.Add(-time.Hour + interval)); wait != 0 {
		t.Errorf("after an interval, the next pass waits %s", wait)
	}
}
