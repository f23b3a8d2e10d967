package reconcile

import (
	"testing"
	"time"
)

// TestFight_BacksOffAndWarnsOnce has another client that changes a field after each revert, at once.
func TestFight_BacksOffAndWarnsOnce(t *testing.T) {
	var f fight
	start := time.Unix(0, 0)
	now, warnings, early := start, 0, 0
	for range 20 {
		now = now.Add(f.wait(now) + time.Millisecond)
		if now.Sub(start) < time.Minute {
			early++
		}
		if f.note(now, "data.a, taken by other") {
			warnings++
		}
	}
	if warnings != 1 || early > 10 || f.wait(now) != fightMost || now.Sub(start) < 30*time.Minute {
		t.Errorf("%d warnings, %d reverts in the first minute, 20 in %s; the next one is in %s", warnings, early, now.Sub(start), f.wait(now))
	}
	now = now.Add(time.Hour)
	if begins := f.note(now, "data.a, taken by other"); begins || f.wait(now) > 0 {
		t.Error("the fight has not ended after an hour")
	}
}
