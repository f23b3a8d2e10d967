package memory

import (
	"slices"
	"testing"
)

func TestHotLoop_SameFieldAgainAndAgain(t *testing.T) {
	var l HotLoop
	rounds := 0
	note := func(changed ...string) bool { return l.Follow(func() []string { return changed }, AlarmRounds) }
	for !note("spec.a", "status.n") {
		if rounds++; rounds > 100 {
			t.Fatal("it is not recognised")
		}
	}
	if l.Rounds != AlarmRounds || !slices.Equal(l.Fields, []string{"spec.a", "status.n"}) {
		t.Errorf("%+v", l)
	}
	if !note("status.n", "status.other") || !slices.Equal(l.Fields, []string{"status.n"}) {
		t.Errorf("%+v", l)
	}
	if note("spec.b") || l.Rounds != 0 {
		t.Errorf("another field continues the loop: %+v", l)
	}
}
