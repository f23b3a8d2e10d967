package engine

import (
	"slices"
	"testing"
)

func TestHotLoop_SameFieldAgainAndAgain(t *testing.T) {
	var l hotLoop
	rounds := 0
	for !l.follow() || !l.note([]string{"spec.a", "status.n"}, alarmRounds) {
		if rounds++; rounds > 100 {
			t.Fatal("it is not recognised")
		}
	}
	if l.rounds != alarmRounds || !slices.Equal(l.fields, []string{"spec.a", "status.n"}) {
		t.Errorf("%+v", l)
	}
	l.follow()
	if !l.note([]string{"status.n", "status.other"}, alarmRounds) || !slices.Equal(l.fields, []string{"status.n"}) {
		t.Errorf("%+v", l)
	}
	l.follow()
	if l.note([]string{"spec.b"}, alarmRounds) || l.rounds != 0 {
		t.Errorf("another field continues the loop: %+v", l)
	}
}
