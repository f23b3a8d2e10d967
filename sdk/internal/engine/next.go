package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// This is where it is decided when an object is looked at next. An event of the object always comes
// first: whatever was decided before is then forgotten.

// maxSleep is the longest sleep that is logged as such. Kopf for Python sleeps no longer at once.
const maxSleep = 10 * time.Minute

// throttled returns when to look again at an object whose handling failed; nil if it is not
// throttled. Only its newest version is of interest by then.
func throttled(m *memory, newest watch.Event, now time.Time) *queue.Next {
	if wait := m.throttle.Remaining(now); wait > 0 && newest.Type != watch.Deleted {
		return &queue.Next{After: wait}
	}
	return nil
}

// rereadDelay is how long an object waits whose newest version cannot be read.
const rereadDelay = time.Second

// next returns when the first of the delays is over: the handlers are due then, or daemons that are stopping must be
// checked. If the patch changed the object, the next cycle takes care of the delays.
func (c *cycle) next(changed bool) *queue.Next {
	if c.gone {
		return nil
	}
	delay, delayed := shortest(c.handlerDelays)
	check, checking := shortest(c.daemonDelays)
	switch {
	case checking && !changed && (!delayed || check < delay):
		return &queue.Next{After: check}
	case !delayed:
		if !changed && c.patched == nil && c.changing {
			c.logger.Debug("Handling cycle is finished, waiting for new changes.", observe.EventKey, observe.LogProcessingFinished)
		}
		return nil
	case c.recordsVanished(changed):
		return nil // the same handlers would be called again, and again without a record
	case changed:
		if delay > 0 {
			c.logger.Debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
		}
		return nil
	case delay > maxSleep:
		c.logger.Debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), maxSleep.Seconds()),
			observe.EventKey, observe.LogProcessingDelayed)
	case delay > 0:
		c.logger.Debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
	}
	c.memory.sleepsUntil = c.deps.now().Add(delay)
	return &queue.Next{After: max(0, delay)}
}

// recordsVanished reports whether the API server has accepted records and stored none, as with a schema that does not
// declare their place: see [memory.warnPruned].
func (c *cycle) recordsVanished(changed bool) bool {
	return !changed && c.patched != nil && !c.writes.own.Empty()
}

// nextAfter returns when the object is handled next, after its patch was sent: at once if handlers are left to
// call and no event will arrive, and otherwise as next says.
func (c *cycle) nextAfter(changed bool) *queue.Next {
	next, atOnce := c.next(changed), &queue.Next{}
	switch {
	case c.retryLeft && !changed:
		return atOnce // the other handlers of the request to retry
	case !c.writes.finished || next != nil:
		return next
	case c.awaitsRetry():
		return atOnce // the failed handlers that are called again for another cause
	case c.behind && !changed:
		return atOnce // the update that follows the handled change
	default:
		return nil
	}
}

// endSleep notes that an event arrived before the delay of the last cycle was over.
func (c *cycle) endSleep() {
	if left := c.memory.sleepsUntil.Sub(c.deps.now()); left > 0 {
		c.logger.Debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()), observe.EventKey, observe.LogProcessingInterrupted)
	}
	c.memory.sleepsUntil = time.Time{}
}

// endCycle returns what a cycle decided or, if it failed, when to retry it.
func (c *cycle) endCycle(ctx context.Context, next *queue.Next, err error) *queue.Next {
	if err != nil && ctx.Err() != nil {
		return nil
	}
	deleted := c.event == watch.Deleted
	if isFenced(err) {
		observe.Tell(c.deps.sink, observe.Ended{Subject: c.unpostedSubject(), At: c.deps.now(), Deleted: deleted})
		return nil
	}
	ended := observe.Ended{Subject: c.unpostedSubject(), At: c.deps.now(), Deleted: deleted, Err: err}
	if err == nil {
		ended.Finished, ended.Recovered = (c.writes.finished || c.recorded) && !deleted, c.memory.throttle.Succeeded()
	} else {
		ended.RetryIn = c.memory.throttle.Failed(c.deps.now(), c.deps.settings.ErrorDelays)
		next = &queue.Next{After: ended.RetryIn}
		if deleted {
			next = nil
		}
	}
	observe.Tell(c.deps.sink, ended)
	return next
}

func shortest(delays []time.Duration) (time.Duration, bool) {
	if len(delays) == 0 {
		return 0, false
	}
	return slices.Min(delays), true
}
