package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// tellCause tells what happened to the object, and what is found there of handlers that do not exist.
func (c *cycle) tellCause() {
	detected := observe.CauseDetected{
		Subject: c.subject, Cause: c.cause, Handlers: c.served.handlers, Changing: c.changing, Finalizer: c.hasFinalizer,
		Failures: c.failures, Again: c.again.ids(), At: c.deps.now(),
	}
	if group := c.memory.group.Load(); group != nil {
		detected.Background = (*background)(group)
	}
	observe.Tell(c.deps.sink, detected)
	if c.changing && c.deps.sink.Wants(observe.KindOrphansFound) {
		orphans := state.Orphans(c.stored, c.deps.settings.Progress, c.served.changing)
		observe.Tell(c.deps.sink, observe.OrphansFound{Subject: c.subject, Orphans: orphans})
	}
}
