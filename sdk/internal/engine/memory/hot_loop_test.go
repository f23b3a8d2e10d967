package memory

import (
	"slices"
	"testing"
)

func TestHotLoop_SameFieldAgainAndAgain(t *testing.T) {
	var l HotLoop
	rounds := 0
	for !l.Follow() || !l.Note([]string{"spec.a", "status.n"}, AlarmRounds) {
		if rounds++; rounds > 100 {
			t.Fatal("it is not recognised")
		}
	}
	if l.Rounds != AlarmRounds || !slices.Equal(l.Fields, []string{"spec.a", "status.n"}) {
		t.Errorf("%+v", l)
	}
	l.Follow()
	if !l.Note([]string{"status.n", "status.other"}, AlarmRounds) || !slices.Equal(l.Fields, []string{"status.n"}) {
		t.Errorf("%+v", l)
	}
	l.Follow()
	if l.Note([]string{"spec.b"}, AlarmRounds) || l.Rounds != 0 {
		t.Errorf("another field continues the loop: %+v", l)
	}
}
