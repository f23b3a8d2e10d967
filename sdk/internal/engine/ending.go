package engine

import (
	"slices"
	"time"
)

// ending is the result of a cycle, as far as it decides when the object is handled next.
type ending struct {
	gone      bool            // the object was deleted meanwhile
	changed   bool            // the patch has changed the object: the next cycle takes care of the delays
	made      bool            // the API server has accepted the patch
	records   bool            // the patch had records of the operator
	finished  bool            // nothing is left to do for the cause
	behind    bool            // an update follows the finished cause
	retryLeft bool            // handlers of a request to retry were not chosen yet
	retryNext bool            // failed handlers are called again for another cause
	delays    []time.Duration // times until delayed handlers are due
	stopping  []time.Duration // times until daemons that are stopping must be checked
}

// wait is how an object waits after a cycle.
type wait int

const (
	waitChange  wait = iota // for an event, or for the version that the patch made
	waitDaemons             // until daemons have stopped
	waitDelay               // until delayed handlers are due
	waitSkipped             // for the version that the patch made; the delay goes on there
	waitLost                // for an event: the same handlers would be called again, and again without a record
	waitNothing             // the object is handled at once
)

// next returns how the object waits, and for how long at most.
func (e *ending) next() (wait, time.Duration) {
	how, delay := e.rest()
	switch {
	case e.gone:
		return waitChange, 0
	case e.retryLeft && !e.changed:
		return waitNothing, 0 // the other handlers of the request to retry
	case !e.finished, how == waitDaemons, how == waitDelay:
		return how, delay
	case e.retryNext, e.behind && !e.changed:
		return waitNothing, 0
	default:
		return how, delay
	}
}

// rest returns how an object waits with nothing to do at once.
func (e *ending) rest() (wait, time.Duration) {
	delay, delayed := shortest(e.delays)
	check, checking := shortest(e.stopping)
	switch {
	case checking && !e.changed && (!delayed || check < delay):
		return waitDaemons, check
	case !delayed:
		return waitChange, 0
	case !e.changed && e.made && e.records:
		return waitLost, 0 // the API server has stored none of them: see [memory.warnPruned]
	case e.changed:
		return waitSkipped, delay
	default:
		return waitDelay, delay
	}
}

func shortest(delays []time.Duration) (time.Duration, bool) {
	if len(delays) == 0 {
		return 0, false
	}
	return slices.Min(delays), true
}
