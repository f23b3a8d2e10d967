package cycle

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// A cycle decides when its object is handled next. An event of the object always comes first, and cancels the decision.

// maxSleep is the longest logged sleep. Kopf for Python does not sleep longer at once.
const maxSleep = 10 * time.Minute

// rereadDelay is the delay after the newest version of an object could not be read.
const rereadDelay = time.Second

// next is called after the patch of the cycle was sent. It returns when to handle the object again if no event arrives
// first. Stopping has the times after which stopping daemons must be checked.
func (c *cycle) next(stopping []time.Duration) *queue.Next {
	e := plan.Ending{
		Gone: c.sent.gone, Changed: c.sent.changed, Made: c.sent.answer != nil, Records: !c.writes.Own.Empty(),
		Finished: c.writes.Finished, Behind: c.record.Behind, RetryLeft: c.calls.left,
		MarkNext: c.record.Marked, RetryNext: c.record.AwaitsRetry(c.memory.Retry.Load()), Delays: c.record.Delays, Stopping: stopping,
	}
	how, delay := e.Next()
	c.logWait(how, delay)
	if again := c.sent.again; again > 0 && (how == plan.WaitChange || how == plan.WaitSkipped || delay > again && how != plan.WaitLost) {
		return &queue.Next{After: again}
	}
	switch how {
	case plan.WaitNothing:
		return &queue.Next{}
	case plan.WaitDelay:
		c.memory.Schedule.SleepsUntil = c.deps.Now().Add(delay)
		return &queue.Next{After: max(0, delay)}
	case plan.WaitDaemons:
		return &queue.Next{After: delay}
	default:
		return nil
	}
}

// logWait logs the wait of the object, with the messages of Kopf for Python.
func (c *cycle) logWait(how plan.Wait, delay time.Duration) {
	logger := c.subject.Logger
	switch {
	case how == plan.WaitChange && !c.sent.gone && !c.sent.changed && c.sent.answer == nil && c.plan.Engaged():
		logger.Debug("Handling cycle is finished, waiting for new changes.", observe.EventKey, observe.LogProcessingFinished)
	case how == plan.WaitDelay && delay > maxSleep:
		logger.Debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), maxSleep.Seconds()),
			observe.EventKey, observe.LogProcessingDelayed)
	case how == plan.WaitDelay && delay > 0:
		logger.Debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
	case how == plan.WaitSkipped && delay > 0:
		logger.Debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()), observe.EventKey, observe.LogProcessingDelayed)
	}
}

// endSleep logs that an event arrived before the delay of the last cycle was over.
func (c *cycle) endSleep() {
	if left := c.memory.Schedule.SleepsUntil.Sub(c.deps.Now()); left > 0 {
		c.subject.Logger.Debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()), observe.EventKey, observe.LogProcessingInterrupted)
	}
	c.memory.Schedule.SleepsUntil = time.Time{}
}

// endCycle reports the end of a cycle. It returns the given decision or, after an error, the time of the retry.
func (c *cycle) endCycle(ctx context.Context, next *queue.Next, err error) *queue.Next {
	if err != nil && ctx.Err() != nil {
		return nil
	}
	deleted := c.deleted()
	if core.IsFenced(err) {
		observe.Emit(c.deps.Sink, observe.Ended{Subject: c.unpostedSubject(), At: c.deps.Now(), Deleted: deleted})
		if c.sent.again > 0 && !deleted {
			return &queue.Next{After: c.sent.again} // a step must not start with the old version
		}
		return nil
	}
	ended := observe.Ended{Subject: c.unpostedSubject(), At: c.deps.Now(), Deleted: deleted, Err: err}
	if err == nil {
		ended.Awaits, ended.Unwritten = c.sent.awaits, c.sent.later && !deleted
		ended.Finished, ended.Recovered = (c.writes.Finished || c.sent.recorded) && !deleted, c.memory.Throttle.Succeeded()
	} else {
		ended.RetryIn = c.memory.Throttle.Failed(c.deps.Now(), c.deps.Settings.ErrorDelays)
		next = &queue.Next{After: ended.RetryIn}
		if deleted {
			next = nil
		}
	}
	observe.Emit(c.deps.Sink, ended)
	return next
}
