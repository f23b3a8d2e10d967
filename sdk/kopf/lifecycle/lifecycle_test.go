package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
)

var (
	a = lifecycle.Due{ID: "a", Retry: 2}
	b = lifecycle.Due{ID: "b"}
	c = lifecycle.Due{ID: "c"}
)

func TestLifecycle_ChoosesHandlersPerCycle(t *testing.T) {
	all := []lifecycle.Due{a, b, c}
	for name, test := range map[string]struct {
		choose lifecycle.Func
		want   []lifecycle.Due
	}{
		"as soon as possible": {lifecycle.ASAP, []lifecycle.Due{b}},
		"all at once":         {lifecycle.AllAtOnce, all},
		"one by one":          {lifecycle.OneByOne, []lifecycle.Due{a}},
	} {
		if got := test.choose(all); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := lifecycle.Randomized(all); len(got) != 1 || !slices.Contains(all, got[0]) {
		t.Errorf("randomized: got %v", got)
	}
	shuffled := lifecycle.Shuffled(all)
	slices.SortFunc(shuffled, func(x, y lifecycle.Due) int { return int(x.ID[0]) - int(y.ID[0]) })
	if !slices.Equal(shuffled, all) {
		t.Errorf("shuffled: got %v", shuffled)
	}
	if !slices.Equal(all, []lifecycle.Due{a, b, c}) {
		t.Errorf("what was given is changed: %v", all)
	}
}
