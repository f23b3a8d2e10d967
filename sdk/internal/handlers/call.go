package handlers

import (
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Call is one call of a handler, as the public package turns it into a request.
type Call struct {
	Cause   *Cause
	Handler *Handler

	Patch    *patch.Patch // what is to be changed in the object
	Memo     any          // the object's memory, or the operator's for activities
	Logger   *slog.Logger
	Recorder any // posts Kubernetes events about the object

	// Of attempts.
	Retry   int           // 0 in the first one
	Started time.Time     // of the first one
	Runtime time.Duration // since the first one

	// Of state-tracking handlers: the states of the whole object, unless [Call.Narrow]
	// has made them those of a field.
	Old, New any
	Diff     object.Diff

	// Sub takes the sub-handlers that the handler adds while it runs; nil where there
	// can be none.
	Sub *Subregistry

	// Extra is what only some families have: it belongs to those who call and who are
	// called.
	Extra any
}

// Widen sets the old and new states to those of the whole object.
func (c *Call) Widen() {
	c.Old, c.New, c.Diff = nil, nil, c.Cause.Diff
	if c.Cause.Old != nil {
		c.Old = c.Cause.Old
	}
	if c.Cause.New != nil {
		c.New = c.Cause.New
	}
}

// Narrow sets the old and new states to those of the handler's field; nil is an absent one.
func (c *Call) Narrow() {
	c.Old = lookup(c.Cause.Old, c.Handler.Field).Value
	c.New = lookup(c.Cause.New, c.Handler.Field).Value
	c.Diff = c.Cause.Diff.Reduce(c.Handler.Field)
}
