package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// A cycle decides when its object is handled next. An event of the object always comes first: whatever was decided before is
// then forgotten.

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

// next returns when the object is handled without an event, after the patch of the cycle was sent. Stopping are the times until
// daemons that are stopping must be checked.
func (c *cycle) next(stopping []time.Duration) *queue.Next {
	e := ending{
		gone: c.sent.gone, changed: c.sent.changed, made: c.sent.answer != nil, records: !c.writes.own.Empty(),
		finished: c.writes.finished, behind: c.record.behind, retryLeft: c.calls.left,
		retryNext: c.record.awaitsRetry(c.memory.retry.Load()), delays: c.record.delays, stopping: stopping,
	}
	how, delay := e.next()
	c.logWait(how, delay)
	switch how {
	case waitNothing:
		return &queue.Next{}
	case waitDelay:
		c.memory.schedule.sleepsUntil = c.deps.now().Add(delay)
		return &queue.Next{After: max(0, delay)}
	case waitDaemons:
		return &queue.Next{After: delay}
	default:
		return nil
	}
}

// logWait logs how the object waits, in the words of Kopf for Python.
func (c *cycle) logWait(how wait, delay time.Duration) {
	logger := c.subject.Logger
	switch {
	case how == waitChange && !c.sent.gone && !c.sent.changed && c.sent.answer == nil && c.plan.engaged():
		logger.Debug("Handling cycle is finished, waiting for new changes.", observe.EventKey, observe.LogProcessingFinished)
	case how == waitDelay && delay > maxSleep:
		logger.Debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), maxSleep.Seconds()),
			observe.EventKey, observe.LogProcessingDelayed)
	case how == waitDelay && delay > 0:
		logger.Debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
	case how == waitSkipped && delay > 0:
		logger.Debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
	}
}

// endSleep notes that an event arrived before the delay of the last cycle was over.
func (c *cycle) endSleep() {
	if left := c.memory.schedule.sleepsUntil.Sub(c.deps.now()); left > 0 {
		c.subject.Logger.Debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()), observe.EventKey, observe.LogProcessingInterrupted)
	}
	c.memory.schedule.sleepsUntil = time.Time{}
}

// endCycle returns what a cycle decided or, if it failed, when to retry it.
func (c *cycle) endCycle(ctx context.Context, next *queue.Next, err error) *queue.Next {
	if err != nil && ctx.Err() != nil {
		return nil
	}
	deleted := c.deleted()
	if isFenced(err) {
		observe.Tell(c.deps.sink, observe.Ended{Subject: c.unpostedSubject(), At: c.deps.now(), Deleted: deleted})
		return nil
	}
	ended := observe.Ended{Subject: c.unpostedSubject(), At: c.deps.now(), Deleted: deleted, Err: err}
	if err == nil {
		ended.Finished, ended.Recovered = (c.writes.finished || c.sent.recorded) && !deleted, c.memory.throttle.Succeeded()
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
