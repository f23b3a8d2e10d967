package explain

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsDeleting reports whether the deletion of an object was requested.
func IsDeleting(o *inspect.Object) bool {
	return o.State == inspect.StateDeleting || o.State == inspect.StateStuck || o.Cause != nil && o.Cause.Reason == inspect.ReasonDelete
}

// IsPaused reports whether an object is paused by its annotation.
func IsPaused(o *inspect.Object) bool { return o.Paused != nil && !IsDeleting(o) }

// HandlersOn returns the ids of the handlers of some kinds that will run on an object for a reason, and of the
// handlers that may run. The operator has not evaluated the filters of the latter, because the present cause has
// another reason.
func (s *State) HandlersOn(o *inspect.Object, reason inspect.Reason, kinds ...inspect.HandlerKind) (will, may []string) {
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if slices.Contains(will, h.ID) {
			continue
		}
		best := never
		for _, kind := range KindsOf(h) {
			if slices.Contains(kinds, kind) {
				best = max(best, s.chanceOf(h, kind, reason))
			}
		}
		switch {
		case best == certain:
			will = append(will, h.ID)
			may = slices.DeleteFunc(may, func(id string) bool { return id == h.ID })
		case best == possible && !slices.Contains(may, h.ID):
			may = append(may, h.ID)
		}
	}
	return will, may
}

// KindsOf returns all kinds that the function of a handler is registered for.
func KindsOf(h *inspect.HandlerState) []inspect.HandlerKind {
	if len(h.Kinds) > 0 {
		return h.Kinds
	}
	return []inspect.HandlerKind{h.Kind}
}

// Purpose returns the kind of a handler of an object, or all of its kinds if it is not called: "create, update".
func Purpose(h *inspect.HandlerState) string {
	if !IsNotCalled(h) {
		return string(h.Kind)
	}
	var words []string
	for _, kind := range KindsOf(h) {
		words = append(words, string(kind))
	}
	return strings.Join(words, ", ")
}

// chance is the certainty with which a handler will run.
type chance int

const (
	never chance = iota
	possible
	certain
)

// chanceOf returns the chance that the registrations of a kind make a handler run on an object for a reason. The operator has
// published its decision about only one kind of the handler. Whether the filters of the other kinds match is unknown.
func (s *State) chanceOf(h *inspect.HandlerState, kind inspect.HandlerKind, reason inspect.Reason) chance {
	best := never
	registrations := 0
	for _, r := range s.handlers[h.ID] {
		if r.Kind != kind {
			continue
		}
		registrations++
		switch {
		case len(r.Reasons) > 0 && !slices.Contains(r.Reasons, reason):
		case len(r.Filters) > 0:
			best = max(best, possible)
		default:
			best = certain
		}
	}
	switch {
	case registrations == 0:
		best = certain // the registration is unknown, so no filter is known that could exclude the object
	case best == never || kind != h.Kind:
		return best
	}
	switch {
	case h.Why == nil:
		return certain
	case reason == inspect.ReasonCreate && h.Why.Wants == "changed":
		return possible // in a new object, everything has changed
	case h.Why.Kind != inspect.MismatchReason:
		return never
	}
	return best
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
