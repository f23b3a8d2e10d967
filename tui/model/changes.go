package model

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsDeleting reports whether the deletion of an object was requested.
func IsDeleting(o *inspect.Object) bool {
	return o.State == inspect.StateDeleting || o.State == inspect.StateStuck || o.Cause != nil && o.Cause.Reason == inspect.ReasonDelete
}

// HandlersOn returns the ids of the handlers of some kinds that run on an object if their reason is the cause: those that
// no filter excludes.
func HandlersOn(o *inspect.Object, kinds ...inspect.HandlerKind) []string {
	var ids []string
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if slices.Contains(kinds, h.Kind) && (h.Why == nil || h.Why.Kind == inspect.MismatchReason) && !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
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
