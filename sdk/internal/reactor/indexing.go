package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
	"github.com/kopf-dev/kopf/sdk/internal/watching"
)

// slowIndexing is how long an indexing function may keep its stream waiting unnoticed.
const slowIndexing = time.Second

// indexer keeps the indices of the objects of one stream. It is called by the stream itself,
// ahead of the queue: so an object is indexed before its handlers are called, in the order
// of its versions, and all listed objects are when the listing ends.
type indexer struct {
	*server

	origin indexing.Origin
	left   atomic.Bool // the origin is not served any more

	mu       sync.Mutex
	ctx      context.Context // of the stream; nil while there is none
	failures map[string]*failed
}

// failed is an object that some indexing functions have failed for.
type failed struct {
	indexing.Failures

	event watching.Event // the newest version
	timer *time.Timer    // of the next attempt; nil if there is none to wait for
}

func newIndexer(s *server, d dimension) *indexer {
	return &indexer{
		server: s, origin: indexing.Origin{Resource: d.resource, Namespace: d.namespace}, failures: map[string]*failed{},
	}
}

// makeIndices makes the indices that the handlers fill.
func makeIndices(registry *handler.Registry) *indexing.Indices {
	indices := new(indexing.Indices)
	for _, h := range registry.All() {
		if h.Family == handler.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	return indices
}

// begin starts with a stream.
func (x *indexer) begin(ctx context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx = ctx
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

// leave takes all objects of the stream out of the indices.
func (x *indexer) leave() {
	x.left.Store(true)
	for _, id := range x.indexed {
		x.indices.Find(id).Retain(x.origin, func(string) bool { return false })
	}
}

// retain takes all objects out of the indices but those that are known to be there.
func (x *indexer) retain(there map[queueing.Key]bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	found := func(id string) bool { return there[queueing.Key{Resource: x.origin.Resource, Object: id}] }
	for _, id := range x.indexed {
		x.indices.Find(id).Retain(x.origin, found)
	}
	for id, f := range x.failures {
		if !found(id) {
			f.stop()
			delete(x.failures, id)
		}
	}
}

// handle indexes an object as it is in an event.
func (x *indexer) handle(event watching.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := queueing.KeyOf(x.origin.Resource, event.Object)
	id := key.Object
	if event.Type == watching.Deleted {
		x.discard(id, x.indexed...)
		if f := x.failures[id]; f != nil {
			f.stop()
			delete(x.failures, id)
		}
		if x.onlyIndexed() {
			x.memories.forget(key)
		}
		return
	}
	x.index(id, event, func(*handler.Handler) bool { return true })
}

// index calls the indexing functions that are due for an object. Only those are called
// that are wanted.
func (x *indexer) index(id string, event watching.Event, wanted func(*handler.Handler) bool) {
	object := event.Object
	defer object.Forget() // it may be in the queue for long
	memory := x.memories.recall(queueing.KeyOf(x.origin.Resource, object), object.Namespace, event.Type == watching.Listed, x.config.NewMemo)
	cause := &handler.Cause{Resource: x.resource, Object: object, EventType: event.Type, Local: &Views{Memo: memory.memo}}
	if x.handlers.NeedsTree(handler.Indexing) {
		var err error
		if cause.Tree, err = object.Tree(); err != nil {
			x.objectLogger(object).Error("The object is not indexed.", "error", err)
			return
		}
	}
	f := x.failures[id]
	selected := x.handlers.Selected(handler.Indexing, cause)
	for _, h := range selected {
		if !wanted(h) || f != nil && f.Failures[h.ID].Excluded(x.now()) {
			continue
		}
		out, ok := x.attempt(h, cause, memory, f)
		if !ok {
			return // the operator stops, or the stream does
		}
		f = x.note(h, id, out, f)
	}
	for _, index := range x.indexed {
		if !slices.ContainsFunc(selected, func(h *handler.Handler) bool { return h.ID == index }) {
			x.discard(id, index)
		}
	}
	if f != nil {
		x.schedule(id, f, event)
	}
}

// attemptResult is what one call of an indexing function came to, and when.
type attemptResult struct {
	outcome.Outcome
	began, ended time.Time
}

// note puts the values of an object into an index, or takes it out of there.
func (x *indexer) note(h *handler.Handler, id string, out attemptResult, f *failed) *failed {
	index, object := x.indices.Find(h.ID), indexing.Object{Origin: x.origin, ID: id}
	switch {
	case out.Err != nil:
		index.Discard(object)
	case out.Result != nil:
		index.Replace(object, out.Result)
		if x.left.Load() {
			index.Discard(object) // it was too late
		}
	}
	if f == nil {
		if out.Final && out.Err == nil {
			return nil
		}
		f = &failed{Failures: indexing.Failures{}}
		x.failures[id] = f
	}
	f.Note(h.ID, out.Outcome, out.began, out.ended)
	return f
}

// schedule lets the indexing functions that have failed be called again when their delays
// are over, even if nothing happens to the object by then.
func (x *indexer) schedule(id string, f *failed, event watching.Event) {
	f.stop()
	if len(f.Failures) == 0 {
		delete(x.failures, id)
		return
	}
	due, waiting := f.Next()
	if !waiting {
		return
	}
	f.event = event
	var timer *time.Timer
	timer = time.AfterFunc(due.Sub(x.now()), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if f.timer == timer && x.ctx != nil {
			x.index(id, f.event, func(h *handler.Handler) bool { _, failed := f.Failures[h.ID]; return failed })
		}
	})
	f.timer = timer
}

// stop forgets about the next attempt.
func (f *failed) stop() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.event = watching.Event{}
}

func (x *indexer) discard(id string, indices ...string) {
	for _, index := range indices {
		x.indices.Find(index).Discard(indexing.Object{Origin: x.origin, ID: id})
	}
}

// attempt calls an indexing function, unless its limits forbid it. It returns false if
// what came of it does not count.
func (x *indexer) attempt(h *handler.Handler, cause *handler.Cause, memory *memory, f *failed) (attemptResult, bool) {
	began := x.now()
	logger := x.objectLogger(cause.Object)
	limits := limitsOf(h, x.settings.DefaultBackoff)
	retries, started := 0, began
	if f != nil {
		if failure, failed := f.Failures[h.ID]; failed {
			retries, started = failure.Retries, failure.Started
		}
	}
	logger.Debug(h.String() + " is invoked.")
	if out, line, exceeded := outcome.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		logger.Log(x.ctx, line.Level, line.Message)
		return attemptResult{out, began, began}, true
	}
	slow := time.AfterFunc(slowIndexing, func() {
		logger.Warn(fmt.Sprintf("%s takes its time: meanwhile, nothing is noticed of any %s.", h, x.resource.Plural))
	})
	defer slow.Stop()
	call := &handler.Call{
		Cause: cause, Handler: h, Patch: patch.NewPatch(), Memo: memory.memo, Logger: logger.With(handlerKey, h.ID),
		Recorder: x.recorder(cause.Object), Retry: retries, Started: started, Runtime: began.Sub(started),
	}
	result, err := invoke(x.ctx, call, limits)
	if err != nil && x.ctx.Err() != nil {
		return attemptResult{}, false
	}
	if !call.Patch.Empty() {
		logger.Warn(fmt.Sprintf("%s has changed the patch: what indexing functions put there is not sent.", h))
	}
	ended := x.now()
	out, line := outcome.Decide(err, result, limits, retries, ended.Sub(started), h.String())
	x.reporter.ran(h, began, ended.Sub(began), out.Final, out.Err)
	x.meters.attempted(h, ended.Sub(began), out, err)
	if err == nil {
		line.Level = slog.LevelDebug // one for each version of each object
	}
	logOutcome(x.ctx, logger, line, err)
	return attemptResult{out, began, ended}, true
}

// onlyIndexed tells whether there is nothing to do for an object but to index it, and
// nobody who would want to see that.
func (s *server) onlyIndexed() bool {
	return s.reporter == nil && !s.handlers.Has(handler.Changing) && !s.handlers.Has(handler.Watching) && !s.handlers.Has(handler.Spawning)
}
