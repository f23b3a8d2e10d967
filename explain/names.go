package explain

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// shortNames maps the ids of handlers to the names used where there is little space. The id
// of a field handler ends with the field, which is shown elsewhere. So the short name omits
// the field if the names stay unique.
func shortNames(handlers []inspect.Handler) map[string]string {
	short := make(map[string]string, len(handlers))
	users := make(map[string]int, len(handlers))
	for _, h := range handlers {
		if _, known := short[h.ID]; known {
			continue // a function that is registered for several causes
		}
		base := h.ID
		if h.Field != "" {
			base = strings.TrimSuffix(base, "/"+h.Field)
		}
		short[h.ID] = base
		users[base]++
	}
	for id, base := range short {
		if users[base] > 1 {
			short[id] = id
		}
	}
	return short
}

// ShortName returns the short name of a handler.
func (s *State) ShortName(id string) string {
	if name, ok := s.shortNames[id]; ok {
		return name
	}
	return id
}

// ShortNames enumerates the short names of handlers.
func (s *State) ShortNames(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = s.ShortName(id)
	}
	return strings.Join(names, ", ")
}

// NameOf returns the short name of a handler of an object. The name of a sub-handler
// follows the name of its parent.
func (s *State) NameOf(h *inspect.HandlerState) string {
	if h.Parent == "" {
		return s.ShortName(h.ID)
	}
	return s.ShortName(h.Parent) + strings.TrimPrefix(h.ID, h.Parent)
}

// SubName returns the last part of a sub-handler's id, to be shown beneath its parent.
func SubName(h *inspect.HandlerState) string {
	return "└ " + strings.TrimPrefix(h.ID, h.Parent+"/")
}

// SourceOf returns the place where a handler was registered, as "file:line". It is empty if
// the place is unknown.
func (s *State) SourceOf(id string) string {
	if all := s.handlers[id]; len(all) > 0 {
		return all[0].Source
	}
	return ""
}

// OwnerOf returns an owner of an object whose kind is handled, preferably the controller; nil if there is none.
func (s *State) OwnerOf(o *inspect.Object) *inspect.Owner {
	var found *inspect.Owner
	for i := range o.Owners {
		owner := &o.Owners[i]
		handled := slices.ContainsFunc(s.Served(), func(r inspect.Resource) bool { return r.Kind == owner.Kind })
		if handled && (found == nil || owner.Controller) {
			found = owner
		}
	}
	return found
}

// QualifiedName returns the name of an object with its namespace, if it has one.
func QualifiedName(ref inspect.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}
