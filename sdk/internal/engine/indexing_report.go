package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// overviews are what the inspector is told of indices.
type overviews struct {
	indices   *index.Indices
	functions []*handlers.Handler

	mu    sync.Mutex
	known map[string]inspect.Index
}

// newOverviews describes the indices of an operator, which are empty.
func newOverviews(registry *handlers.Registry, indices *index.Indices) *overviews {
	v := &overviews{indices: indices, known: map[string]inspect.Index{}}
	for _, h := range registry.All() {
		if h.Family != handlers.Index {
			continue
		}
		v.functions = append(v.functions, h)
		index := inspect.Index{ID: h.ID}
		index.Key, index.Value = indices.Find(h.ID).Types()
		v.known[h.ID] = index
	}
	return v
}

// served notes the resources that the indices are filled from now.
func (v *overviews) served(hub *inspect.Hub, resources []resources.Resource) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, index := range sorted(v.known) {
		index.Resources = []string{}
		for i := range resources {
			fills := func(h *handlers.Handler) bool { return h.ID == id && h.Selector.Match(&resources[i]) }
			if slices.ContainsFunc(v.functions, fills) {
				index.Resources = append(index.Resources, resources[i].Key())
			}
		}
		slices.Sort(index.Resources)
		v.known[id] = index
		hub.PutIndex(index)
	}
}

// measured notes how much there is in some indices by now.
func (v *overviews) measured(hub *inspect.Hub, ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		index, size := v.known[id], v.indices.Find(id).Size()
		if index.Keys == size.Keys && index.Values == size.Values && index.Objects == size.Objects {
			continue
		}
		index.Keys, index.Values, index.Objects = size.Keys, size.Values, size.Objects
		v.known[id] = index
		hub.PutIndex(index)
	}
}

// indexed tells how much there is in some indices.
func (r *reporter) indexed(ids []string) {
	if r != nil {
		r.overviews.measured(r.hub, ids)
	}
}

// indexed notes what a call of an indexing function has come to.
func (r *report) indexed(h *handlers.Handler, out attemptResult) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.indexing(h)
	s.Started, s.Attempt = out.started, out.retries+1
	called(s, out.began, out.ended.Sub(out.began), out.Err)
}

// decided tells how the object stands with all indexing functions. As they are ahead of its
// other handlers, it is for these to tell of the object first.
func (r *report) decided(decisions []handlers.Decision, failures indexFailures) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range decisions {
		s := r.indexing(d.Handler)
		explain(s, d)
		if !d.Selected {
			s.Next = time.Time{}
			continue
		}
		switch failure, failed := failures[d.Handler.ID]; {
		case !failed:
			s.State, s.Next = inspect.PhaseDone, time.Time{}
		case failure.Final:
			s.State, s.Next = inspect.PhaseFailed, time.Time{}
		default:
			s.State, s.Next = inspect.PhaseRetrying, failure.Until
		}
	}
	if r.object.ResourceVersion != "" {
		r.publish()
	}
}

// indexing is the state of an indexing function. It is good until the next one is asked for.
func (r *report) indexing(h *handlers.Handler) *inspect.HandlerState {
	i := slices.IndexFunc(r.handlers, func(s inspect.HandlerState) bool { return s.ID == h.ID && isIndexing(s) })
	if i < 0 {
		i = len(r.handlers)
		r.handlers = append(r.handlers, inspect.HandlerState{ID: h.ID, Kind: string(h.Family)})
	}
	return &r.handlers[i]
}

// indexPage returns a part of an index for the inspector.
func (o *operator) indexPage(id string, offset, limit int) (inspect.IndexPage, bool) {
	index := o.indices.Find(id)
	if index == nil {
		return inspect.IndexPage{}, false
	}
	entries, total := index.Page(offset, limit)
	page := inspect.IndexPage{ID: id, Offset: offset, Total: total, Entries: make([]inspect.IndexEntry, len(entries))}
	for i, e := range entries {
		page.Entries[i] = inspect.IndexEntry(e)
	}
	return page, true
}
