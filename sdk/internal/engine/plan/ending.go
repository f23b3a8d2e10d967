package plan

import (
	"slices"
	"time"
)

// Ending is the result of a cycle, as far as it decides when the object is handled next.
type Ending struct {
	Gone      bool            // the object was deleted meanwhile
	Changed   bool            // the patch has changed the object: the next cycle takes care of the delays
	Made      bool            // the API server has accepted the patch
	Records   bool            // the patch had records of the operator
	Finished  bool            // nothing is left to do for the cause
	Behind    bool            // an update follows the finished cause
	RetryLeft bool            // handlers of a request to retry were not chosen yet
	RetryNext bool            // failed handlers are called again for another cause
	Delays    []time.Duration // times until delayed handlers are due
	Stopping  []time.Duration // times until daemons that are stopping must be checked
}

// Wait is how an object waits after a cycle.
type Wait int

// The ways to wait.
const (
	WaitChange  Wait = iota // for an event, or for the version that the patch made
	WaitDaemons             // until daemons have stopped
	WaitDelay               // until delayed handlers are due
	WaitSkipped             // for the version that the patch made; the delay goes on there
	WaitLost                // for an event: the same handlers would be called again, and again without a record
	WaitNothing             // the object is handled at once
)

// Next returns how the object waits, and for how long at most.
func (e *Ending) Next() (Wait, time.Duration) {
	how, delay := e.rest()
	switch {
	case e.Gone:
		return WaitChange, 0
	case e.RetryLeft && !e.Changed:
		return WaitNothing, 0 // the other handlers of the request to retry
	case !e.Finished, how == WaitDaemons, how == WaitDelay:
		return how, delay
	case e.RetryNext, e.Behind && !e.Changed:
		return WaitNothing, 0
	default:
		return how, delay
	}
}

// rest returns how an object waits with nothing to do at once.
func (e *Ending) rest() (Wait, time.Duration) {
	delay, delayed := shortest(e.Delays)
	check, checking := shortest(e.Stopping)
	switch {
	case checking && !e.Changed && (!delayed || check < delay):
		return WaitDaemons, check
	case !delayed:
		return WaitChange, 0
	case !e.Changed && e.Made && e.Records:
		return WaitLost, 0 // the API server has stored none of them: see [memory.Memory.WarnPruned]
	case e.Changed:
		return WaitSkipped, delay
	default:
		return WaitDelay, delay
	}
}

func shortest(delays []time.Duration) (time.Duration, bool) {
	if len(delays) == 0 {
		return 0, false
	}
	return slices.Min(delays), true
}
