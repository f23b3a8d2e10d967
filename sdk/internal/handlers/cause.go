package handlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Cause is an object with the change that the operator detected. Handlers are selected for a cause and called with
// it. A Cause is immutable, so it can be shared.
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
	Again   bool           // "kopf rehandle" requested the call
	Deleted bool           // marked for deletion
	Old     map[string]any // essence as last handled; nil if it never was
	New     map[string]any // current essence
	Diff    object.Diff    // difference from Old to New

	Review *Review // review for admission handlers; else nil

	// Excluded has the ids of daemons and timers that must not be started again as keys.
	Excluded map[string]bool

	// Context is the context of filter functions. It belongs to the operator, so that the functions find its indices.
	// It is a field because the sink's subscribers call filters too. Defaults to the background context.
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
