package model

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsDeleting reports whether the deletion of an object was requested.
func IsDeleting(o *inspect.Object) bool {
	return o.State == inspect.StateDeleting || o.State == inspect.StateStuck || o.Cause != nil && o.Cause.Reason == inspect.ReasonDelete
}

// IsPaused reports whether an object is left alone because its annotation says so.
func IsPaused(o *inspect.Object) bool { return o.Paused != nil && !IsDeleting(o) }

// HandlersOn returns the ids of the handlers of some kinds that will run on an object for a reason, and of those that may:
// the operator has not looked at their filters, because the present cause has another reason.
func (s *State) HandlersOn(o *inspect.Object, reason inspect.Reason, kinds ...inspect.HandlerKind) (will, may []string) {
	for i := range o.Handlers {
		h := &o.Handlers[i]
		registered := s.handlers[h.ID]
		if !slices.Contains(kinds, h.Kind) || slices.Contains(will, h.ID) || slices.Contains(may, h.ID) {
			continue
		}
		switch {
		case registered != nil && len(registered.Reasons) > 0 && !slices.Contains(registered.Reasons, reason):
		case h.Why == nil:
			will = append(will, h.ID)
		case reason == inspect.ReasonCreate && h.Why.Wants == "changed":
			may = append(may, h.ID) // in a new object, everything has changed
		case h.Why.Kind != inspect.MismatchReason:
		case registered != nil && len(registered.Filters) > 0:
			may = append(may, h.ID)
		default:
			will = append(will, h.ID)
		}
	}
	return will, may
}

// InBackground returns the ids of the daemons and timers that run for an object.
func InBackground(o *inspect.Object) []string {
	var ids []string
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.State == inspect.PhaseAlive || h.State == inspect.PhaseTicking {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// Served returns the resources that the operator watches.
func (s *State) Served() []inspect.Resource {
	if s.Snapshot == nil {
		return nil
	}
	return s.Snapshot.Served
}

// Reviewed returns the keys of the resources with admission handlers.
func (s *State) Reviewed() []string {
	if s.Snapshot == nil {
		return nil
	}
	return s.Snapshot.Reviewed
}

// Finalizer returns the name of the operator's finalizer. It is empty if that is not known.
func (s *State) Finalizer() string {
	if s.Snapshot == nil {
		return ""
	}
	return s.Snapshot.Operator.Finalizer
}

// Hidden returns the fields whose values the operator hides.
func (s *State) Hidden() [][]string {
	if s.Snapshot == nil {
		return nil
	}
	return s.Snapshot.Operator.Hidden
}
