package handlers

import (
	"fmt"
	"slices"
)

// Conflict is two handlers of one resource with the same id but different functions, or with ids that
// make the same annotation name. They would share their progress: if one is done, the other is never called.
type Conflict struct{ First, Second *Handler }

// String returns who conflicts, and what to do.
func (c Conflict) String() string {
	if c.First.Family == Reconcile && c.Second.Family == Reconcile {
		return fmt.Sprintf("there are reconcile handlers at %s and at %s; a resource has at most one", c.First.ShortSource(), c.Second.ShortSource())
	}
	if c.First.ID != c.Second.ID {
		return fmt.Sprintf("%s (at %s) and %s (at %s) would keep their progress in the same annotation; give either handler another id with kopf.ID",
			c.First, c.First.ShortSource(), c.Second, c.Second.ShortSource())
	}
	return fmt.Sprintf("%s (at %s) and another one (at %s) have the same id; give either handler another id with kopf.ID",
		c.Second, c.First.ShortSource(), c.Second.ShortSource())
}

// recorded reports whether the handler keeps a record under its id on the objects.
func (h *Handler) recorded() bool {
	return h.Family.Group() == Changing || h.Family.Group() == Reconciling
}

// Conflicts returns the conflicts of handlers with state under their id. Change handlers conflict if one cause can
// select both or if their annotations are equal; daemons and timers conflict if their ids are equal.
func (s *Set) Conflicts() []Conflict {
	var found []Conflict
	recorded := slices.Concat(s.members[Changing].distinct, s.members[Reconciling].distinct)
	for _, all := range [...][]*Handler{recorded, s.members[Spawning].distinct} {
		for i, second := range all {
			for _, first := range all[:i] {
				if first.Family == Reconcile && second.Family == Reconcile {
					continue // see below
				}
				if first.ID == second.ID && first.meets(second) || first.SharesAnnotation(second) {
					found = append(found, Conflict{first, second})
				}
			}
		}
	}
	if all := s.members[Reconciling].handlers; len(all) > 1 {
		found = append(found, Conflict{all[0], all[1]})
	}
	return found
}

// SharesAnnotation reports whether two change handlers have different ids that make the same annotation name, such as
// a/b and a.b. Then even the records of different causes are mixed up.
func (h *Handler) SharesAnnotation(other *Handler) bool {
	return h.ID != other.ID && h.recorded() && other.recorded() && annotationName(h.ID) == annotationName(other.ID)
}

// meets reports whether one cause can select both handlers, whatever their filters.
func (h *Handler) meets(other *Handler) bool {
	return h.Family.Group() == Spawning || h.Family == Reconcile || other.Family == Reconcile || slices.ContainsFunc(h.reasons(), func(r Reason) bool {
		return slices.Contains(other.reasons(), r)
	})
}

// reasons returns the reasons for which a change handler can be called. Resume handlers are called together with the
// handlers for changes from before the operator started.
func (h *Handler) reasons() []Reason {
	switch {
	case len(h.Reasons) > 0:
		return h.Reasons
	case h.Family == Create:
		return []Reason{ReasonCreate}
	case h.Family == Update:
		return []Reason{ReasonUpdate}
	case h.Family == Delete:
		return []Reason{ReasonDelete}
	case h.Family == Resume && !h.Deleted:
		return []Reason{ReasonCreate, ReasonUpdate, ReasonResume}
	default:
		return []Reason{ReasonCreate, ReasonUpdate, ReasonDelete, ReasonResume}
	}
}
