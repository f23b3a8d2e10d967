package cycle

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

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
