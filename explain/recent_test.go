package explain

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestRecentRuns_MoveWithTheClock(t *testing.T) {
	until := time.Unix(1_700_000_000, 0)
	h := &inspect.Handler{Recent: &inspect.Recent{
		Until: until, Step: inspect.Duration(10 * time.Second),
		Runs: []int{3, 0, 2, 1}, Took: []inspect.Duration{inspect.Duration(time.Second), 0, inspect.Duration(2 * time.Second), inspect.Duration(time.Second)},
	}}
	for _, test := range []struct {
		after time.Duration
		want  []float64
		rate  int
	}{
		{-3 * time.Second, []float64{3, 0, 2, 1}, 18},
		{0, []float64{3, 0, 2, 1}, 18},
		{time.Second, []float64{0, 2, 1, 0}, 12},
		{21 * time.Second, []float64{1, 0, 0, 0}, 6},
		{time.Hour, []float64{0, 0, 0, 0}, 0},
	} {
		r, some := RecentRuns(h, until.Add(test.after))
		if !slices.Equal(r.Runs, test.want) || r.PerMinute != test.rate || some != (test.rate > 0) || r.Span != 40*time.Second {
			t.Errorf("after %s: %+v", test.after, r)
		}
	}
	if _, some := RecentRuns(&inspect.Handler{}, until); some {
		t.Error("there are attempts of a handler that never ran")
	}
}
