package observe

import "time"

// budget limits the requests for one object: a burst at once, then one request after each refill.
type budget struct {
	burst  int
	refill time.Duration
	left   int
	since  time.Time // time of the last refill
}

// take takes one request of the budget. It returns false if the budget is used up.
func (b *budget) take(now time.Time) bool {
	if earned := int(now.Sub(b.since) / b.refill); earned > 0 {
		b.left = min(b.burst, b.left+earned)
		b.since = b.since.Add(time.Duration(earned) * b.refill)
	}
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}
