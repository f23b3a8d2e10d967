package plan

import (
	"math"
	"slices"
	"time"
)

// Ending is the part of a cycle's result that decides when the object is handled next.
type Ending struct {
	Gone      bool            // the object was deleted during the cycle
	Changed   bool            // the patch changed the object, so the next cycle handles the delays
	Made      bool            // the API server accepted the patch
	Records   bool            // the patch had records of the operator
	Finished  bool            // the cause has nothing left to do
	Behind    bool            // an update follows the finished cause
	RetryLeft bool            // the lifecycle has not chosen all handlers of a retry request yet
	MarkNext  bool            // a mark of "kopf rehandle" follows the finished cause
	RetryNext bool            // failed handlers are called again for another cause
	Delays    []time.Duration // times until delayed handlers are due
	Stopping  []time.Duration // times until stopping daemons must be checked
}

// Wait is the kind of wait after a cycle.
type Wait int

// The values of Wait.
const (
	WaitChange  Wait = iota // an event, or the version that the patch made
	WaitDaemons             // the end of daemons
	WaitDelay               // the due time of delayed handlers
	WaitSkipped             // the version that the patch made; the cycle of that version handles the delay
	WaitLost                // an event; without stored records, the same handlers would be called again and again
	WaitNothing             // nothing; the object is handled at once
)

// Next returns the kind of wait, and its maximum time.
func (e *Ending) Next() (Wait, time.Duration) {
	how, delay := e.rest()
	switch {
	case e.Gone:
		return WaitChange, 0
	case e.RetryLeft && !e.Changed:
		return WaitNothing, 0 // the next cycle calls the other handlers of the retry request
	case !e.Finished, how == WaitDaemons, how == WaitDelay:
		return how, delay
	case e.MarkNext && (e.Changed || !e.Made || !e.Records), // otherwise, the object has no records, and the cause would repeat
		e.RetryNext, e.Behind && !e.Changed:
		return WaitNothing, 0
	default:
		return how, delay
	}
}

// rest returns the kind of wait if nothing must be done at once.
func (e *Ending) rest() (Wait, time.Duration) {
	delay, check := shortest(e.Delays), shortest(e.Stopping)
	switch {
	case !e.Changed && check < delay:
		return WaitDaemons, check
	case delay == never:
		return WaitChange, 0
	case !e.Changed && e.Made && e.Records:
		return WaitLost, 0 // the API server has stored none of the records: see [memory.Memory.WarnPruned]
	case e.Changed:
		return WaitSkipped, delay
	default:
		return WaitDelay, delay
	}
}

const never = time.Duration(math.MaxInt64)

func shortest(delays []time.Duration) time.Duration {
	return slices.Min(append([]time.Duration{never}, delays...))
}
