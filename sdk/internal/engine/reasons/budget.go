package reasons

import "time"

// A rollout changes the status of a child again and again. Passes with patient reasons only begin at once if there were few passes
// before; later, they begin at intervals, and the changes in between are folded.
const (
	burst    = 2
	interval = 3 * time.Second
)

// Budget limits the passes of a parent. Each pass spends, and a pass for a list of patient reasons waits until the budget permits it.
// The zero value permits [burst] passes.
type Budget struct {
	saved time.Time // time at which the budget has regained all that was spent
}

// Spend notes that a pass begins. A pass that has not waited can overdraw the budget, but delays the next patient pass by one interval
// at most.
func (b *Budget) Spend(now time.Time) {
	full := now.Add(burst * interval)
	if b.saved.Before(now) {
		b.saved = now
	}
	if b.saved = b.saved.Add(interval); b.saved.After(full) {
		b.saved = full
	}
}

// Wait returns the time until a patient pass may begin; 0 if it may begin now. If the clock is set back, the time is still at most one
// interval.
func (b *Budget) Wait(now time.Time) time.Duration {
	return min(max(0, b.saved.Add(-(burst-1)*interval).Sub(now)), interval)
}
