package engine

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// callEventHandlers calls the handlers of raw events for each event in turn. What they come to is
// logged, and not retried. It is not posted, as watched objects can have very many events.
func (c *cycle) callEventHandlers(ctx context.Context) error {
	if !c.served.handlers.Has(handlers.Watching) {
		return nil
	}
	subject := c.unpostedSubject()
	for _, event := range c.batch.Events {
		if c.deps.settings.Selection.Labels != "" && event.Type == watch.Deleted && event.Object != c.object {
			continue // it had left the selection, and has come back
		}
		tree, err := event.Object.Tree()
		if err != nil {
			return fmt.Errorf("decode the object: %w", err)
		}
		cause := &handlers.Cause{
			Resource: c.served.resource, Object: event.Object, EventType: event.Type, Tree: tree,
			Context: ctx, Views: &handlers.Views{Memo: c.memory.memo},
		}
		observe.Tell(c.deps.sink, observe.EventDispatched{Subject: c.subject, Cause: cause, Handlers: c.served.handlers})
		for _, h := range c.served.handlers.Selected(handlers.Watching, cause) {
			if _, counts := c.invoker.try(ctx, c.newAttempt(subject, h, cause)); !counts {
				return errStopping
			}
		}
		if event.Object != c.object {
			event.Object.DropTree()
		}
	}
	return nil
}
