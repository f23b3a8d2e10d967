package cycle

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// callEventHandlers calls the event handlers for each event in turn. It logs their outcomes, and does not retry them. It
// posts no Kubernetes events, because watched objects can have very many events.
func (c *cycle) callEventHandlers(ctx context.Context) error {
	if !c.served.Handlers.Has(handlers.Watching) {
		return nil
	}
	subject := c.unpostedSubject()
	for _, event := range c.batch.Events {
		if c.deps.Settings.Selection.Labels != "" && event.Type == watch.Deleted && event.Object != c.object {
			continue // the object left the selection, and returned
		}
		tree, err := event.Object.Tree()
		if err != nil {
			return fmt.Errorf("decode the object: %w", err)
		}
		cause := &handlers.Cause{
			Resource: c.served.Resource, Object: event.Object, EventType: event.Type, Tree: tree,
			Context: ctx, Views: &handlers.Views{Memo: c.memory.Memo},
		}
		observe.Emit(c.deps.Sink, observe.EventDispatched{Subject: c.subject, Cause: cause, Handlers: c.served.Handlers})
		for _, h := range c.served.Handlers.Selected(handlers.Watching, cause) {
			if _, counts := c.invoker.Try(ctx, c.newAttempt(subject, h, cause)); !counts {
				return core.ErrStopping
			}
		}
		if event.Object != c.object {
			event.Object.DropTree()
		}
	}
	return nil
}
