package handlers

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Reason is what has happened to an object.
type Reason string

// The reasons. The first four are for handlers, the others for the engine alone.
const (
	ReasonCreate Reason = "create"
	ReasonUpdate Reason = "update"
	ReasonDelete Reason = "delete"
	ReasonResume Reason = "resume" // nothing, but the operator has not seen the object before
	ReasonNoop   Reason = "noop"   // nothing that matters
	ReasonFree   Reason = "free"   // it is being deleted and does not wait for this operator
	ReasonGone   Reason = "gone"   // it is deleted
)

// Handled tells whether there are handlers for the reason.
func (r Reason) Handled() bool {
	switch r {
	case ReasonCreate, ReasonUpdate, ReasonDelete, ReasonResume:
		return true
	default:
		return false
	}
}

// Title is the reason as a noun, for the log: "creation". Empty for the engine's reasons.
func (r Reason) Title() string {
	switch r {
	case ReasonCreate:
		return "creation"
	case ReasonUpdate:
		return "updating"
	case ReasonDelete:
		return "deletion"
	case ReasonResume:
		return "resuming"
	default:
		return ""
	}
}

// Cause is what handlers are selected for and called with: an object and what has happened
// to it. It does not change once it is made, and may be shared.
type Cause struct {
	Resource  *resources.Resource
	Object    *object.Object
	EventType string // of the watch; empty if the object was listed

	// Tree is the decoded object. It may be nil for a selection that does not need it:
	// see [Set.NeedsTree].
	Tree map[string]any

	// Of state-tracking handlers.
	Reason  Reason
	Initial bool           // not handled since the operator has started; see [Detect]
	Deleted bool           // marked for deletion
	Old     map[string]any // the essence as last handled; nil if it never was
	New     map[string]any // the essence now
	Diff    object.Diff    // from Old to New

	// Excluded are the ids of daemons and timers that are not to be spawned again.
	Excluded map[string]struct{}

	// Of admission.
	Review *Review

	// Local belongs to the maker of the cause and travels with it to [Handler.When] and
	// [Handler.Invoke].
	Local any
}

// Review is what the API server asks admission handlers about.
type Review struct {
	Family      Family // [Validate] or [Mutate]; empty is both
	HandlerID   string // the only handler that is asked; empty is all
	Operation   string // "CREATE", "UPDATE", "DELETE", "CONNECT"
	Subresource string
}

// Evidence is what the reason is concluded from.
type Evidence struct {
	EventType string // of the watch; empty if the object was listed
	Deleting  bool   // the object is marked for deletion
	Blocked   bool   // the deletion waits for this operator's finalizer
	Handled   bool   // there is a state as last handled
	Changed   bool   // the state now differs from it
	Initial   bool   // not handled since the operator has started
}

// Detect concludes what has happened to an object, and whether handlers of resuming join
// in: they never join a creation, because then there is nothing to resume.
func Detect(e Evidence) (reason Reason, initial bool) {
	switch {
	case e.EventType == object.EventDeleted:
		return ReasonGone, e.Initial
	case e.Deleting && !e.Blocked:
		return ReasonFree, e.Initial
	case e.Deleting:
		return ReasonDelete, e.Initial
	case !e.Handled:
		return ReasonCreate, false
	case e.Changed:
		return ReasonUpdate, e.Initial
	case e.Initial:
		return ReasonResume, e.Initial
	default:
		return ReasonNoop, e.Initial
	}
}
