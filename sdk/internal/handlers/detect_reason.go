package handlers

import "github.com/kopf-dev/kopf/sdk/internal/object"

// Reason is the kind of change of an object.
type Reason string

// The reasons. Handlers can be registered for the first four; the others are internal.
const (
	ReasonCreate Reason = "create"
	ReasonUpdate Reason = "update"
	ReasonDelete Reason = "delete"
	ReasonResume Reason = "resume" // unchanged, but this process sees the object for the first time
	ReasonNoop   Reason = "noop"   // the essence has not changed
	ReasonFree   Reason = "free"   // being deleted, without the operator's finalizer
	ReasonGone   Reason = "gone"   // deleted
)

// Handled reports whether handlers can be registered for the reason.
func (r Reason) Handled() bool {
	switch r {
	case ReasonCreate, ReasonUpdate, ReasonDelete, ReasonResume:
		return true
	default:
		return false
	}
}

// Title returns the reason as a noun for log lines, such as "creation"; empty for internal reasons.
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

// Evidence is the facts from which [DetectReason] concludes the reason.
type Evidence struct {
	EventType      string // type of the watch event; empty for the initial listing
	Deleting       bool   // the object is marked for deletion
	Blocked        bool   // the object has the operator's finalizer
	Handled        bool   // the object has a last-handled state
	EssenceChanged bool   // the current state differs from the last-handled one
	Initial        bool   // not handled since the operator started
}

// DetectReason returns the kind of change of an object, and whether resume handlers are called too. They are never
// called for a creation, because there is nothing to resume.
func DetectReason(e Evidence) (reason Reason, initial bool) {
	switch {
	case e.EventType == object.EventDeleted:
		return ReasonGone, e.Initial
	case e.Deleting && !e.Blocked:
		return ReasonFree, e.Initial
	case e.Deleting:
		return ReasonDelete, e.Initial
	case !e.Handled:
		return ReasonCreate, false
	case e.EssenceChanged:
		return ReasonUpdate, e.Initial
	case e.Initial:
		return ReasonResume, e.Initial
	default:
		return ReasonNoop, e.Initial
	}
}
