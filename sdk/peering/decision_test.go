package peering

import (
	"testing"
	"time"
)

func TestDecide_HigherOnesAreTheCauses(t *testing.T) {
	peer := func(id string, priority int, left time.Duration) Peer {
		return Peer{Identity: id, Priority: priority, Deadline: noon.Add(left)}
	}
	all := []Peer{peer("dead", 9, 0), peer("equal", 5, 30*time.Second), peer("high", 9, time.Minute), peer("low", 1, time.Minute), peer("me", 5, time.Minute)}
	d := Decide(all, "me", 5, noon)
	if causes := d.Causes(); len(causes) != 1 || causes[0].Identity != "high" || !d.Paused() {
		t.Errorf("%+v", causes)
	}
	if next, until := d.Next().Sub(noon), d.Until().Sub(noon); next != 30*time.Second || until != time.Minute {
		t.Errorf("decides again in %s, paused for %s", next, until)
	}
	if len(d.Lower) != 1 || len(d.Dead) != 1 {
		t.Errorf("%+v", d)
	}
	for i, active := range []bool{false, false, true, false, false} {
		if IsActive(&all[i], all, noon) != active {
			t.Errorf("%s: want %v", all[i].Identity, active)
		}
	}
	d = Decide(all[:2], "me", 5, noon.Add(time.Minute))
	if d.Paused() || !d.Until().IsZero() || !d.Next().IsZero() || len(d.Dead) != 2 {
		t.Errorf("all are dead: %+v", d)
	}
}
