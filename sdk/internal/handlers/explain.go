package handlers

import (
	"slices"
)

// Decision is whether a handler is called for a cause.
type Decision struct {
	Handler  *Handler
	Selected bool
	Why      Mismatch // the first condition not met, if it is not selected
}

// Families returns the families of a function that is registered several times under one id, in the order of registration;
// nil if it has one family.
func (s *Set) Families(h *Handler) []Family {
	var families []Family
	for _, other := range s.members[h.Family.Group()].handlers {
		if other.same(h) && !slices.Contains(families, other.Family) {
			families = append(families, other.Family)
		}
	}
	if len(families) < 2 {
		return nil
	}
	return families
}

// Explain returns for each handler of a group whether it is called for a cause, in the order of registration. For a
// function that is registered several times under one id, it returns the decision about the selected registration, or
// else about the closest registration. It is slower than [Set.Selected], and meant for the inspector only.
func (s *Set) Explain(g Group, c *Cause) []Decision {
	m := &s.members[g]
	decisions := make([]Decision, 0, len(m.distinct))
	for _, h := range m.handlers {
		d := Decision{Handler: h}
		d.Selected = h.matches(c, &d.Why)
		if d.Selected {
			d.Why = Mismatch{}
		}
		at := slices.IndexFunc(decisions, func(other Decision) bool { return other.Handler.same(h) })
		switch {
		case at < 0:
			decisions = append(decisions, d)
		case !decisions[at].Selected && (d.Selected || decisions[at].Why.Kind == MismatchReason):
			decisions[at] = d
		}
	}
	return decisions
}
