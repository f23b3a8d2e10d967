package observe

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// inspectedIndices are the operator's indices as the inspector shows them.
type inspectedIndices struct {
	indices *index.Indices
	fillers []*handlers.Handler // indexing functions of the indices

	mu    sync.Mutex
	known map[string]inspect.Index
}

// init publishes the indices, which are still empty.
func (x *inspectedIndices) init(registry *handlers.Registry, indices *index.Indices) {
	x.indices, x.known = indices, map[string]inspect.Index{}
	for _, h := range registry.All() {
		if h.Family != handlers.Index {
			continue
		}
		x.fillers = append(x.fillers, h)
		described := inspect.Index{ID: h.ID}
		described.Key, described.Value = indices.Find(h.ID).Types()
		x.known[h.ID] = described
	}
}

// publishResources publishes the resources whose objects fill the indices.
func (x *inspectedIndices) publishResources(hub *inspector.Hub, served []resources.Resource) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range object.SortedKeys(x.known) {
		described := x.known[id]
		described.Resources = []string{}
		for i := range served {
			fills := func(h *handlers.Handler) bool { return h.ID == id && h.Selector.Match(&served[i]) }
			if slices.ContainsFunc(x.fillers, fills) {
				described.Resources = append(described.Resources, served[i].Key())
			}
		}
		slices.Sort(described.Resources)
		x.known[id] = described
		hub.PutIndex(described)
	}
}

// publishSizes publishes the numbers of keys and values of some indices.
func (x *inspectedIndices) publishSizes(hub *inspector.Hub, ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		described, size := x.known[id], x.indices.Find(id).Size()
		if described.Keys == size.Keys && described.Values == size.Values && described.Objects == size.Objects {
			continue
		}
		described.Keys, described.Values, described.Objects = size.Keys, size.Values, size.Objects
		x.known[id] = described
		hub.PutIndex(described)
	}
}

// indexed shows the state of all indexing functions for the object.
func (o *shown) indexed(e ObjectIndexed) {
	for _, d := range e.Decisions {
		s := o.indexing(d.Handler)
		showDecision(s, d, e.Subject.Secrets)
		if !d.Selected {
			s.Next = time.Time{}
			continue
		}
		switch failure, failed := e.Failures[d.Handler.ID]; {
		case !failed:
			s.State, s.Next = inspect.PhaseDone, time.Time{}
		case failure.Final:
			s.State, s.Next = inspect.PhaseFailed, time.Time{}
		default:
			s.State, s.Next = inspect.PhaseRetrying, failure.Until
		}
	}
}

// indexing returns the state of an indexing function. It is valid until the next call.
func (o *shown) indexing(h *handlers.Handler) *inspect.HandlerState {
	i := slices.IndexFunc(o.Handlers, func(s inspect.HandlerState) bool {
		return s.ID == h.ID && groupOf(s) == handlers.Indexing
	})
	if i < 0 {
		i = len(o.Handlers)
		o.Handlers = append(o.Handlers, inspect.HandlerState{ID: h.ID, Kind: inspect.HandlerKind(h.Family)})
	}
	return &o.Handlers[i]
}

// IndexPage returns a part of an index for the inspector; false if there is no such index. Hidden values are replaced by
// marks, and a search does not find them.
func IndexPage(indices *index.Indices, query inspector.IndexQuery, hidden bool) (inspect.IndexPage, bool) {
	found := indices.Find(query.ID)
	if found == nil {
		return inspect.IndexPage{}, false
	}
	shown := func(e index.Entry) index.Entry {
		if hidden {
			e.Value = redact.Mark
		}
		return e
	}
	var match func(index.Entry) bool
	if words := strings.Fields(strings.ToLower(query.Search)); len(words) > 0 {
		match = func(e index.Entry) bool {
			e = shown(e)
			key, value := strings.ToLower(e.Key), strings.ToLower(e.Value)
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(key, w) && !strings.Contains(value, w) })
		}
	}
	entries, total := found.Page(query.Offset, query.Limit, match)
	page := inspect.IndexPage{ID: query.ID, Offset: query.Offset, Total: total, Entries: make([]inspect.IndexEntry, len(entries))}
	for i, e := range entries {
		page.Entries[i] = inspect.IndexEntry(shown(e))
	}
	return page, true
}
