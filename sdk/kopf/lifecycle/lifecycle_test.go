package kopf_test

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

var (
	a = kopf.Due{ID: "a", Retry: 2}
	b = kopf.Due{ID: "b"}
	c = kopf.Due{ID: "c"}
)

func TestLifecycle_ChoosesHandlersPerCycle(t *testing.T) {
	all := []kopf.Due{a, b, c}
	for name, test := range map[string]struct {
		choose kopf.Lifecycle
		want   []kopf.Due
	}{
		"as soon as possible": {kopf.ASAP, []kopf.Due{b}},
		"all at once":         {kopf.AllAtOnce, all},
		"one by one":          {kopf.OneByOne, []kopf.Due{a}},
	} {
		if got := test.choose(all); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := kopf.Randomized(all); len(got) != 1 || !slices.Contains(all, got[0]) {
		t.Errorf("randomized: got %v", got)
	}
	shuffled := kopf.Shuffled(all)
	slices.SortFunc(shuffled, func(x, y kopf.Due) int { return int(x.ID[0]) - int(y.ID[0]) })
	if !slices.Equal(shuffled, all) {
		t.Errorf("shuffled: got %v", shuffled)
	}
	if !slices.Equal(all, []kopf.Due{a, b, c}) {
		t.Errorf("what was given is changed: %v", all)
	}
}
