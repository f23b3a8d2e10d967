package handlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Cause is an object and what has happened to it. Handlers are selected for it and called with
// it. It does not change once it is made, so it can be shared.
type Cause struct {
	Resource  *resources.Resource
	Object    *object.Object
	EventType string // type of the watch event; empty for the initial listing

	// Tree is the decoded object. It may be nil for selections that do not need it: see
	// [Set.NeedsTree].
	Tree map[string]any

	// For change handlers.
	Reason  Reason
	Initial bool           // not handled since the operator started; see [DetectReason]
	Deleted bool           // marked for deletion
	Old     map[string]any // essence as last handled; nil if it never was
	New     map[string]any // current essence
	Diff    object.Diff    // from Old to New

	Review *Review // for admission handlers; else nil

	// Excluded are the ids of daemons and timers that must not be started again.
	Excluded map[string]struct{}

	// Context is what the functions of filters are called with, and belongs to the operator, so
	// that they find its indices. It is here because the sink's subscribers call filters too. Defaults to the
	// background context.
	Context context.Context

	// Views are the typed views of the object, for filters and handlers. Optional.
	Views *Views
}

func (c *Cause) context() context.Context {
	if c.Context == nil {
		return context.Background()
	}
	return c.Context
}
