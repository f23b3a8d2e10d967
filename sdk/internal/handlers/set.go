package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Set is the handlers of one resource, or the sub-handlers of one handler. See
// [Registry.ForResource] and [Subregistry.Set].
type Set struct {
	all     []*Handler
	members [groups]members
	extra   []object.Path

	conditions bool // see [Registry.KeepConditions]
	versioned  bool // a handler has a version
}

type members struct {
	handlers   []*Handler // handlers in order of registration
	distinct   []*Handler // handlers, without repetitions of a function under one id
	needsTree  bool
	needsWhole bool
}

func (s *Set) add(h *Handler) {
	s.all = append(s.all, h)
	s.versioned = s.versioned || h.Version != ""
	m := &s.members[h.Family.Group()]
	m.handlers = append(m.handlers, h)
	m.distinct = appendDistinct(m.distinct, h)
	m.needsTree = m.needsTree || h.needsTree()
	m.needsWhole = m.needsWhole || h.callsFunctions() || len(h.Annotations) > 0
	switch h.Family.Group() {
	case Changing, Watching, Spawning:
		if len(h.Field) > 0 && !slices.ContainsFunc(s.extra, h.Field.Equal) {
			s.extra = append(s.extra, h.Field)
		}
	}
}

// Same reports whether two sets have the same handlers.
func (s *Set) Same(other *Set) bool { return slices.Equal(s.all, other.all) }

// Has reports whether a group has handlers.
func (s *Set) Has(g Group) bool { return len(s.members[g].handlers) > 0 }

// Handlers returns the handlers of a group, each function once for each id.
func (s *Set) Handlers(g Group) []*Handler { return s.members[g].distinct }

// KeepsConditions reports whether the operator keeps conditions in the status of the objects.
func (s *Set) KeepsConditions() bool { return s.conditions && (s.Has(Changing) || s.Has(Reconciling)) }

// Versioned reports whether any handler has a version.
func (s *Set) Versioned() bool { return s.versioned }

// Versioning returns the change handler with an id and a version; nil if there is none. If several registrations have both, it returns
// the first whose filters match the object, apart from the filters on how the object has changed. The function returns the cause for a
// handler. Matches is false if no filters match.
func (s *Set) Versioning(id, version string, causeFor func(*Handler) *Cause) (found *Handler, cause *Cause, matches bool) {
	for _, h := range s.members[Changing].handlers {
		if version == "" || h.ID != id || h.Version != version {
			continue
		}
		switch c := causeFor(h); {
		case h.prematches(c):
			return h, c, true
		case found == nil:
			found, cause = h, c
		}
	}
	return found, cause, false
}

// Any reports whether a function is true for any handler of a group.
func (s *Set) Any(g Group, f func(*Handler) bool) bool {
	return slices.ContainsFunc(s.members[g].handlers, f)
}

// NeedsTree reports whether filters of a group need the decoded object. If not, the handlers can be selected without
// decoding it. Functions (Handler.When) do not count, because they decode the object themselves.
func (s *Set) NeedsTree(g Group) bool { return s.members[g].needsTree }

// NeedsEssence reports whether the filters of a group depend only on the essence of the object
// with [Set.ExtraFields], so that an unchanged essence means an unchanged selection.
func (s *Set) NeedsEssence(g Group) bool { return !s.members[g].needsWhole }

// ExtraFields returns the fields of handlers. They belong to the essence of an object even if
// they are in a part that does not, such as the status.
func (s *Set) ExtraFields() []object.Path { return s.extra }

// Selected returns the handlers of a group that are called for a cause, in the order of
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

// Prematch reports whether any change handler may be called for the object, now or after another
// change. If not, no state is stored on the object; when it matches later, its cause is creation.
func (s *Set) Prematch(c *Cause) bool {
	for _, h := range s.members[Changing].handlers {
		if h.prematches(c) {
			return true
		}
	}
	return false
}

// RequiresFinalizer reports whether the object must stay in the cluster until a handler is done.
func (s *Set) RequiresFinalizer(c *Cause) bool {
	for _, h := range s.members[Spawning].handlers {
		if !c.excludes(h) && h.matches(c, nil) {
			return true
		}
	}
	for _, h := range s.members[Changing].handlers {
		if h.requiresFinalizer() && h.prematches(c) {
			return true
		}
	}
	if h := s.Reconciler(); h != nil && h.requiresFinalizer() && h.prematches(c) {
		return true
	}
	return false
}

func (c *Cause) excludes(h *Handler) bool {
	_, excluded := c.Excluded[h.ID]
	return excluded
}
