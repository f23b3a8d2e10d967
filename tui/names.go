package tui

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// shortNames are what handlers are called where there is little room. The id of a handler
// of a field ends with the field, which is shown elsewhere, or can be told from the rest:
// it is left out as long as the names stay different.
func shortNames(handlers []inspect.Handler) map[string]string {
	short := make(map[string]string, len(handlers))
	users := make(map[string]int, len(handlers))
	for _, h := range handlers {
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

// name is the short name of a handler.
func (w *world) name(id string) string {
	if name, ok := w.names[id]; ok {
		return name
	}
	return id
}

// names are those of several handlers.
func (w *world) namesOf(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = w.name(id)
	}
	return joined(names)
}

// nameOf is the short name of a handler of an object: of a sub-handler, after its parent's.
func (w *world) nameOf(h *inspect.HandlerState) string {
	if h.Parent == "" {
		return w.name(h.ID)
	}
	return w.name(h.Parent) + strings.TrimPrefix(h.ID, h.Parent)
}
