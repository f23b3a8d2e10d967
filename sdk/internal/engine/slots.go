package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// slot waits until the handler may run, as only so many may at the same time. The
// returned function must be called at the end. A sub-handler that is executed by its parent
// runs in the parent's slot, or the parent would wait for itself. Daemons need none: they
// run for as long as their objects are there, and would leave no slots for anybody.
func (c *cycle) slot(ctx context.Context, h *handlers.Handler) (leave func(), err error) {
	if c.slots == nil || c.inside || h.Family == handlers.Daemon {
		return func() {}, nil
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.inside = true
	return func() {
		c.inside = false
		<-c.slots
	}, nil
}

// choose asks the lifecycle which of the handlers that are due are to be called now.
func (c *cycle) choose(due []handlers.Due) ([]handlers.Due, error) {
	chosen := c.settings.Lifecycle(slices.Clone(due))
	if len(chosen) == 0 {
		return nil, fmt.Errorf("the lifecycle has chosen none of the handlers that are due: %v", due)
	}
	for i, one := range chosen {
		same := func(d handlers.Due) bool { return d.ID == one.ID }
		switch {
		case !slices.ContainsFunc(due, same):
			return nil, fmt.Errorf("the lifecycle has chosen the handler %q, which is not due", one.ID)
		case slices.ContainsFunc(chosen[:i], same):
			return nil, fmt.Errorf("the lifecycle has chosen the handler %q twice", one.ID)
		}
	}
	return chosen, nil
}
