package reasons

import "time"

// A rollout changes the status of a child again and again. A pass with only patient reasons begins at once if the parent has had
// fewer than burst passes recently. Otherwise, it waits for up to an interval, and handles all changes that arrived meanwhile.
const (
	burst    = 2
	interval = 3 * time.Second
)

// Budget limits the rate of a parent's passes with only patient reasons. All passes spend from the budget, but other passes never
// wait for it. The zero value permits [burst] passes at once.
type Budget struct {
	saved time.Time // time at which the budget is full again
}

// Spend records the beginning of a pass. Passes that do not wait can overdraw the budget, but they delay the next patient pass by
// at most one interval.
func (b *Budget) Spend(now time.Time) {
	full := now.Add(burst * interval)
	if b.saved.Before(now) {
		b.saved = now
	}
	if b.saved = b.saved.Add(interval); b.saved.After(full) {
		b.saved = full
	}
}

// Wait returns the time until a patient pass may begin; 0 if it may begin now. The time is at most one interval, even after the
// clock was set back.
func (b *Budget) Wait(now time.Time) time.Duration {
	return min(max(0, b.saved.Add(-(burst-1)*interval).Sub(now)), interval)
}
