package cycle

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
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
	case plan.WaitDelay:
		c.memory.Schedule.SleepsUntil = c.deps.Now().Add(delay)
		fallthrough
	case plan.WaitDaemons, plan.WaitNothing:
		return &queue.Next{After: max(0, delay)}
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
	ended := observe.Ended{Subject: c.unpostedSubject(), At: c.deps.Now(), Deleted: c.deleted()}
	switch {
	case core.IsFenced(err) && c.sent.again > 0:
		next = &queue.Next{After: c.sent.again} // a step must not start with the old version
	case core.IsFenced(err):
		next = nil
	case err != nil:
		ended.Err, ended.RetryIn = err, c.memory.Throttle.Failed(ended.At, c.deps.Settings.ErrorDelays)
		next = &queue.Next{After: ended.RetryIn}
	default:
		ended.Awaits, ended.Recovered = c.sent.awaits, c.memory.Throttle.Succeeded()
		ended.Finished, ended.Unwritten = (c.writes.Finished || c.sent.recorded) && !ended.Deleted, c.sent.later && !ended.Deleted
	}
	observe.Emit(c.deps.Sink, ended)
	if ended.Deleted {
		return nil
	}
	return next
}

// followAnswer returns when the object is handled next, after its patches were sent: at once if a patch made a version
// with work left, and otherwise after the delay that the cycle chose. Like a version from the stream, the new version is
// indexed before it is handled. If the cycle failed after an accepted request, the version waits for the retry.
func (c *cycle) followAnswer(ctx context.Context, next *queue.Next, failed error, index *indexing.Indexer) *queue.Next {
	ledger := &c.memory.Ledger
	answer := ledger.Answer
	switch {
	case answer == nil || c.sent.gone || c.deleted() || ctx.Err() != nil:
		return next
	case !c.needsPlan():
		ledger.Answer = nil // the event of the version is only for event handlers
		return next
	case !c.handles(answer):
		ledger.Skip() // the object left the selection; the stream delivers a Deleted event
		return nil
	case next == nil && c.leavesNothing(answer):
		ledger.Skip()
		c.endLoop()
		subject := *c.subject
		subject.Object = answer
		observe.Emit(c.deps.Sink, observe.Ended{Subject: &subject, At: c.deps.Now(), Skipped: true, Unwritten: c.sent.later})
		return nil
	}
	index.Offer(answer)
	if failed != nil {
		return next
	}
	return &queue.Next{}
}

// handles reports whether the operator handles a version that its patch made, and that may have other labels.
func (c *cycle) handles(answer *object.Object) bool {
	if !c.deps.Shards.Owns(c.served, answer) {
		return false
	}
	if c.deps.Settings.Selection.Labels == "" || !c.served.Narrowed() {
		return true
	}
	selector, err := labels.Parse(c.deps.Settings.Selection.Labels)
	if err != nil {
		return true // the API server understands the selector
	}
	defer answer.DropTree()
	tree, err := answer.Tree()
	if err != nil {
		return true // the next cycle returns the error
	}
	given, _ := object.Metadata(tree)["labels"].(map[string]any)
	set := make(labels.Set, len(given))
	for key, value := range given {
		set[key], _ = value.(string)
	}
	return selector.Matches(set)
}

// leavesNothing reports whether the version that the last patch made needs no handling: nothing is left to do, and the
// version differs from the handled one only by the operator's own annotations. It does not decode the version.
func (c *cycle) leavesNothing(answer *object.Object) bool {
	set := c.served.Handlers
	switch {
	case set.Has(handlers.Watching), set.Has(handlers.Spawning), state.BindsDiffBase(c.deps.Settings.DiffBase):
		return false // event handlers and daemons need each version, and a custom storage may read the whole object
	case !c.writes.Finished, c.sent.answer != answer, c.record.Behind, c.deleted(), c.object.Deleting, c.memory.Retry.Load() != nil,
		!c.memory.Outbox.Empty(), len(c.served.ExtraFields) > 0, !set.NeedsEssence(handlers.Changing):
		return false
	}
	written := outbox.AnnotationsOf(c.writes.Own)
	return c.object.SameBut(answer, func(key string) bool {
		_, own := written[key]
		return own
	})
}
