package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Set are the handlers of one resource, or the sub-handlers of one handler. It is made by
// [Registry.ForResource] or by [Subregistry.Set].
type Set struct {
	all     []*Handler
	members [groups]members
	extra   []object.Path
}

type members struct {
	handlers   []*Handler // in the order of registration
	distinct   []*Handler // without the repetitions of a function under the same id
	needsTree  bool
	needsWhole bool
}

func (s *Set) add(h *Handler) {
	s.all = append(s.all, h)
	m := &s.members[h.Family.Group()]
	m.handlers = append(m.handlers, h)
	m.distinct = appendDistinct(m.distinct, h)
	m.needsTree = m.needsTree || h.needsTree()
	m.needsWhole = m.needsWhole || h.When != nil || len(h.Annotations) > 0
	switch h.Family.Group() {
	case Changing, Watching, Spawning:
		if len(h.Field) > 0 && !slices.ContainsFunc(s.extra, h.Field.Equal) {
			s.extra = append(s.extra, h.Field)
		}
	}
}

// Has tells whether there are any handlers of a group.
func (s *Set) Has(g Group) bool { return len(s.members[g].handlers) > 0 }

// Handlers returns the handlers of a group, each function once for each id.
func (s *Set) Handlers(g Group) []*Handler { return s.members[g].distinct }

// NeedsTree tells whether filters of a group look into the decoded object. If they do not,
// its handlers can be selected without decoding it. Functions ([Handler.When]) do not
// count: they decode what they need.
func (s *Set) NeedsTree(g Group) bool { return s.members[g].needsTree }

// NeedsEssence tells whether filters of a group look at nothing but the essence of the object
// with [Set.ExtraFields]: there is nothing to decide anew while that is the same.
func (s *Set) NeedsEssence(g Group) bool { return !s.members[g].needsWhole }

// ExtraFields are the fields of handlers, which belong to the essence of an object even if
// they are of a part that does not, such as the status.
func (s *Set) ExtraFields() []object.Path { return s.extra }

// Selected returns the handlers of a group to be called for a cause, in the order of
// registration, each function once for each id.
func (s *Set) Selected(g Group, c *Cause) []*Handler {
	if g == Changing && !c.Reason.Handled() {
		return nil
	}
	m := &s.members[g]
	repetitive := len(m.distinct) < len(m.handlers)
	var selected []*Handler
	for _, h := range m.handlers {
		if g == Spawning && c.excludes(h) || repetitive && slices.ContainsFunc(selected, h.same) {
			continue
		}
		if !h.matches(c, nil) {
			continue
		}
		if selected == nil {
			selected = make([]*Handler, 0, len(m.distinct))
		}
		selected = append(selected, h)
	}
	return selected
}

// Prematch tells whether the object is of interest to any state-tracking handler at all,
// now or after some other change. If it is not, no state is kept on it: once it begins to
// be of interest, it is as good as created.
func (s *Set) Prematch(c *Cause) bool {
	for _, h := range s.members[Changing].handlers {
		if h.prematches(c) {
			return true
		}
	}
	return false
}

// RequiresFinalizer tells whether the object must not vanish before some handler is done
// with it.
func (s *Set) RequiresFinalizer(c *Cause) bool {
	for _, h := range s.members[Spawning].handlers {
		if !c.excludes(h) && h.matches(c, nil) {
			return true
		}
	}
	for _, h := range s.members[Changing].handlers {
		if h.RequiresFinalizer() && h.prematches(c) {
			return true
		}
	}
	return false
}

func (c *Cause) excludes(h *Handler) bool {
	_, excluded := c.Excluded[h.ID]
	return excluded
}
