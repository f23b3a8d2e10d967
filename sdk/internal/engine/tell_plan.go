package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// tellPlan reports a plan with what the cycle has found out about the object.
func (c *cycle) tellPlan(plan observe.Planned) {
	plan.Subject, plan.At, plan.Cause, plan.Handlers = c.subject, c.deps.now(), c.cause, c.served.handlers
	plan.Changing, plan.Finalizer = c.changing, c.hasFinalizer
	plan.Failures, plan.Again = c.failures, c.again.ids()
	if group := c.memory.group.Load(); group != nil {
		plan.Background = (*background)(group)
	}
	if c.changing {
		plan.Orphans = state.Orphans(c.stored, c.deps.settings.Progress, c.served.changing)
	}
	observe.Tell(c.deps.sink, plan)
}
