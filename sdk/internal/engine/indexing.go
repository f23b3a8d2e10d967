package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// indexer keeps the indices of the objects of one stream. It is called by the stream itself,
// ahead of the queue: so an object is indexed before its handlers are called, in the order
// of its versions, and all listed objects are when the listing ends.
type indexer struct {
	*server

	origin    index.Origin
	abandoned bool // a function does not return; guarded by the ensemble

	mu       sync.Mutex
	ctx      context.Context // of the stream; nil while there is none
	failures map[string]*failed
}

func newIndexer(d dimension) *indexer {
	return &indexer{origin: d.origin(), failures: map[string]*failed{}}
}

// makeIndices makes the indices that the handlers fill.
func makeIndices(registry *handlers.Registry) *index.Indices {
	indices := new(index.Indices)
	for _, h := range registry.All() {
		if h.Family == handlers.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	return indices
}

// begin starts with a stream, of a resource that may have been redefined since the last one.
func (x *indexer) begin(ctx context.Context, s *server) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx, x.server = ctx, s
	for id, f := range x.failures {
		maps.DeleteFunc(f.failures, func(index string, _ indexFailure) bool { return !slices.Contains(s.indexed, index) })
		if len(f.failures) == 0 {
			delete(x.failures, id)
		}
	}
}

// end is the end of a stream. What is in the indices stays there.
func (x *indexer) end() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx = nil
	for _, f := range x.failures {
		f.stop()
	}
}

// leave takes all objects of a stream that has ended out of the indices, but for those that they
// are still for: these stay complete while the objects are listed again.
func (x *indexer) leave(but []string) {
	for _, id := range x.indexed {
		if !slices.Contains(but, id) {
			x.indices.Find(id).Retain(x.origin, func(string) bool { return false })
		}
	}
	x.publish()
}

// retain takes all objects out of the indices but those that are known to be there.
func (x *indexer) retain(there map[queue.Key]bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	found := func(id string) bool { return there[queue.Key{Resource: x.origin.Resource, Object: id}] }
	for _, id := range x.indexed {
		x.indices.Find(id).Retain(x.origin, found)
	}
	for id, f := range x.failures {
		if !found(id) {
			f.stop()
			delete(x.failures, id)
		}
	}
	x.publish()
}

// handle indexes an object as it is in an event.
func (x *indexer) handle(event watch.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return // the next stream begins with all objects again
	}
	id := queue.KeyOf(x.origin.Resource, event.Object).Object
	if event.Type == watch.Deleted {
		x.discard(id, x.indexed...)
		if f := x.failures[id]; f != nil {
			f.stop()
			delete(x.failures, id)
		}
		x.memories.forgetMemo(x.origin, id)
	} else {
		x.index(id, event, func(*handlers.Handler) bool { return true })
	}
	x.publish()
}

// index calls the indexing functions that are due for an object. Only those are called
// that are wanted.
func (x *indexer) index(id string, event watch.Event, wanted func(*handlers.Handler) bool) {
	object := event.Object
	defer object.Forget() // it may be in the queue for long
	memo, memory := x.recall(id, event)
	cause := &handlers.Cause{Resource: x.resource, Object: object, EventType: event.Type, Local: &Views{Memo: memo}}
	selected, decisions, err := x.selected(cause)
	if err != nil {
		x.objectLogger(object).With(reasons(err)...).Error("The object is not indexed, and stays in the indices as it was before.")
		return
	}
	report := x.reporter.known(memory, x.resource, object)
	f := x.failures[id]
	for _, h := range selected {
		if !wanted(h) || f != nil && f.failures[h.ID].Excluded(x.now()) {
			continue
		}
		out, ok := x.attempt(h, cause, memo, f)
		if !ok {
			return
		}
		f = x.note(h, id, out, f)
		report.indexed(h, out)
	}
	for _, index := range x.indexed {
		if !hasID(selected, index) {
			x.discard(id, index)
		}
	}
	if f == nil {
		report.decided(decisions, nil)
		return
	}
	report.decided(decisions, f.failures)
	x.schedule(id, f, event, selected)
}

// recall returns the memo of an object, and what else is remembered of it: nothing if it is only
// indexed.
func (x *indexer) recall(id string, event watch.Event) (memo any, memory *memory) {
	if x.onlyIndexed {
		return x.memories.memo(x.origin, id, x.config.NewMemo), nil
	}
	key := queue.Key{Resource: x.origin.Resource, Object: id}
	memory = x.memories.recall(key, event.Object.Namespace, event.Type == watch.Listed, x.config.NewMemo)
	return memory.memo, memory
}

// selected are the indexing functions whose filters an object matches; for the inspector, with
// the decisions about all of them.
func (x *indexer) selected(cause *handlers.Cause) (selected []*handlers.Handler, decisions []handlers.Decision, err error) {
	defer survive(&err)
	if x.handlers.NeedsTree(handlers.Indexing) {
		if cause.Tree, err = cause.Object.Tree(); err != nil {
			return nil, nil, err
		}
	}
	if x.reporter != nil {
		decisions = x.handlers.Explain(handlers.Indexing, cause)
	}
	return x.handlers.Selected(handlers.Indexing, cause), decisions, nil
}

func hasID(hs []*handlers.Handler, id string) bool {
	return slices.ContainsFunc(hs, func(h *handlers.Handler) bool { return h.ID == id })
}

// note puts the values of an object into an index, or takes it out of there.
func (x *indexer) note(h *handlers.Handler, id string, out attemptResult, f *failed) *failed {
	index, object := x.indices.Find(h.ID), index.Object{Origin: x.origin, ID: id}
	switch {
	case out.Err != nil:
		index.Discard(object)
	case out.Result != nil:
		index.Replace(object, out.Result)
	}
	if f == nil {
		if out.Final && out.Err == nil {
			return nil
		}
		f = &failed{failures: indexFailures{}}
		x.failures[id] = f
	}
	f.failures.Note(h.ID, out.Outcome, out.began, out.ended)
	return f
}

func (x *indexer) discard(id string, indices ...string) {
	for _, idx := range indices {
		x.indices.Find(idx).Discard(index.Object{Origin: x.origin, ID: id})
	}
}

// publish tells the inspector how much there is by now.
func (x *indexer) publish() { x.reporter.indexed(x.indexed) }
