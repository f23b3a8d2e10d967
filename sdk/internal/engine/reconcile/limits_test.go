package reconcile

import (
	"testing"
	"time"
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
