package handlers

import (
	"cmp"
	"slices"
	"testing"
)

func due() []Due { return []Due{{"a", 2}, {"b", 1}, {"c", 1}, {"d", 3}} }

func TestASAP_FewestAttemptsFirst(t *testing.T) {
	if got := ASAP(due()); !slices.Equal(got, []Due{{"b", 1}}) {
		t.Errorf("got %v, want the first of those tried once", got)
	}
}

func TestOneByOne_KeepsOrderOfRegistration(t *testing.T) {
	if got := OneByOne(due()); !slices.Equal(got, due()[:1]) {
		t.Errorf("got %v", got)
	}
}

func TestAllAtOnce_ChoosesAll(t *testing.T) {
	if got := AllAtOnce(due()); !slices.Equal(got, due()) {
		t.Errorf("got %v", got)
	}
}

func TestRandomized_ChoosesOneAtRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		got := Randomized(due())
		if len(got) != 1 {
			t.Fatalf("got %v, want one", got)
		}
		seen[got[0].ID] = true
	}
	if len(seen) != 4 {
		t.Errorf("got only %v in a thousand cycles", seen)
	}
}

func TestShuffled_ChoosesAllInAnyOrder(t *testing.T) {
	orders := map[string]bool{}
	for range 1000 {
		got := Shuffled(due())
		orders[got[0].ID] = true
		slices.SortFunc(got, func(a, b Due) int { return cmp.Compare(a.ID, b.ID) })
		if !slices.Equal(got, due()) {
			t.Fatalf("got %v", got)
		}
	}
	if len(orders) != 4 {
		t.Errorf("got only %v as the first in a thousand cycles", orders)
	}
}

func TestLifecycles_NothingDue(t *testing.T) {
	for _, choose := range []Lifecycle{ASAP, AllAtOnce, OneByOne, Randomized, Shuffled} {
		if got := choose(nil); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	}
}
