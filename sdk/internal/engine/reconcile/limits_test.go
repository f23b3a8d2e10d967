package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
)

// TestFight_BacksOffAndWarnsOnce has another client that changes a field after each revert, at once.
func TestFight_BacksOffAndWarnsOnce(t *testing.T) {
	var f repeats
	start := time.Unix(0, 0)
	now, warnings, early, soon := start, 0, 0, 0
	for range 20 {
		now = now.Add(f.wait(now) + time.Millisecond)
		if now.Sub(start) < time.Minute {
			early++
		}
		if now.Sub(start) < 10*time.Minute {
			soon++
		}
		if f.note(now, "data.a, taken by other", fightCount) {
			warnings++
		}
	}
	if warnings != 1 || early > 10 || soon > 15 || f.wait(now) != longestDelay || now.Sub(start) < 30*time.Minute {
		t.Errorf("%d warnings, %d reverts in the first minute, %d in ten, 20 in %s; the next one is in %s", warnings, early, soon, now.Sub(start), f.wait(now))
	}
	now = now.Add(time.Hour)
	if begins := f.note(now, "data.a, taken by other", fightCount); begins || f.wait(now) > 0 {
		t.Error("the fight has not ended after an hour")
	}
}

// The longest delay of one name is still known while others are created anew, and is forgotten after it has ended.
func TestRecreations_AreForgottenOnceTheirDelaysHaveEnded(t *testing.T) {
	now := time.Unix(0, 0)
	k := &kind{}
	p := &Pass{family: &family{reconciler: &Reconciler{deps: &core.Deps{Now: func() time.Time { return now }}}}}
	recreate := func(name string) *desired {
		d := &desired{kind: k, name: childName{"ns", name}}
		now = now.Add(p.recreationDelay(d) + time.Millisecond)
		p.noteRecreation(d, errors.New("field is immutable"))
		return d
	}
	busy := recreate("busy")
	for p.recreationDelay(busy) < longestDelay {
		recreate("busy")
	}
	end := now.Add(unstableCount * longestDelay)
	for i := range 1000 {
		recreate(fmt.Sprint("x", i))
		now = now.Add(500 * time.Millisecond)
		if most := int(repeatsWithin/(500*time.Millisecond)) + 2; len(k.recreations) > most {
			t.Fatalf("%d names are known", len(k.recreations))
		}
	}
	if k.recreations[busy.name] == nil {
		t.Error("the name with the longest delay was forgotten too early")
	}
	now = end.Add(time.Millisecond)
	recreate("last")
	if len(k.recreations) != 1 {
		t.Errorf("%d names are known at the end", len(k.recreations))
	}
}
