package kopftest

import (
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A Clock is the wall clock of an operator. A test can make it wrong and correct it at any time. It determines the times
// that the operator records on objects: the start of attempts, and the time of the next attempt. As with a real clock, a
// jump does not change durations that the operator measures, such as timeouts.
//
//	var clock kopftest.Clock
//	operator := cluster.Run(Register, clock.Use)
//	clock.Jump(-time.Hour)
//
// The zero value shows the right time. It is safe for concurrent use.
type Clock struct{ offset atomic.Int64 }

// Use sets the operator's clock. Pass it to [Cluster.Run].
func (c *Clock) Use(o *kopf.Operator) { testhooks.SetClock(o, c.Now) }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	// Round removes the monotonic clock reading, which would hide a jump.
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}

// Jump moves the clock forward, or back.
func (c *Clock) Jump(d time.Duration) { c.offset.Add(int64(d)) }

// Correct sets the clock to the right time.
func (c *Clock) Correct() { c.offset.Store(0) }
