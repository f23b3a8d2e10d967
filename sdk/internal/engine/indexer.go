package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// slowIndexing is how long an indexing function may block its stream before a warning is logged.
const slowIndexing = time.Second

// indexer keeps the indices of the objects of one scope. The stream calls it before it queues an
// event: an object is indexed before its handlers are called, in the order of its versions, and all
// objects are indexed when the listing ends.
type indexer struct {
	deps      *deps
	memories  *memories
	invoker   *invoker
	scope     resources.Scope
	abandoned bool // a handler does not return; guarded by the lock of streams

	mu       sync.Mutex
	resource *servedResource
	ctx      context.Context // of the stream; nil while there is none
	failures map[string]*failedObject
	answers  indexedAnswers // nil without a stream
}

func newIndexer(d *deps, m *memories, i *invoker, scope resources.Scope) *indexer {
	return &indexer{deps: d, memories: m, invoker: i, scope: scope, failures: map[string]*failedObject{}}
}

// start starts indexing when a stream starts. The definition of the resource may have changed since
// the last one.
func (x *indexer) start(ctx context.Context, res *servedResource) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx, x.resource, x.answers = ctx, res, indexedAnswers{}
	for id, f := range x.failures {
		maps.DeleteFunc(f.failures, func(index string, _ indexFailure) bool { return !slices.Contains(res.indexes, index) })
		if len(f.failures) == 0 {
			delete(x.failures, id)
		}
	}
}

// stop stops retrying when the stream ends. The indices keep their entries.
func (x *indexer) stop() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx = nil
	for _, f := range x.failures {
		f.cancelRetry()
	}
}

// handling notes that an object is being handled until the returned function is called. Nothing is noted without a stream,
// which lists all objects when it starts.
func (x *indexer) handling(id string) (end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	answers := x.answers
	if answers != nil {
		answers.begin(id)
	}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		answers.end(id)
	}
}

// offer indexes the version of an object that the operator's patch made, before its handlers are called. The object is
// being handled; a nil indexer does nothing.
func (x *indexer) offer(answer *object.Object) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	id := queue.KeyOf(x.scope.Resource, answer).Object
	if x.ctx == nil || x.ctx.Err() != nil || !x.answers.accept(id, answer.ResourceVersion) {
		return // it was deleted, or the next stream lists all objects
	}
	x.index(id, watch.Event{Type: watch.Modified, Object: answer}, everyHandler)
	x.tellChanged()
}

// clear removes the entries of all objects, once the stream has ended, except from the indices to
// keep: these stay complete while the objects are listed again.
func (x *indexer) clear(keep []string) {
	for _, id := range x.resource.indexes {
		if !slices.Contains(keep, id) {
			x.deps.indices.Find(id).Retain(x.scope, func(string) bool { return false })
		}
	}
	x.tellChanged()
}

// retain removes the entries of all objects except for those that exist.
func (x *indexer) retain(existing map[queue.Key]bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	exists := func(id string) bool { return existing[queue.Key{Resource: x.scope.Resource, Object: id}] }
	for _, id := range x.resource.indexes {
		x.deps.indices.Find(id).Retain(x.scope, exists)
	}
	for id, f := range x.failures {
		if !exists(id) {
			f.cancelRetry()
			delete(x.failures, id)
		}
	}
	x.tellChanged()
}

// forget removes the entries of objects that other replicas handle from now on.
func (x *indexer) forget(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		delete(x.answers, id)
		x.removeEntries(id, x.resource.indexes...)
		if f := x.failures[id]; f != nil {
			f.cancelRetry()
			delete(x.failures, id)
		}
	}
	x.tellChanged()
}

// handle indexes the object of an event, or removes its entries if it was deleted.
func (x *indexer) handle(event watch.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return // the next stream lists all objects again
	}
	id := queue.KeyOf(x.scope.Resource, event.Object).Object
	if x.answers.knows(id, event) {
		return
	}
	if event.Type == watch.Deleted {
		x.removeEntries(id, x.resource.indexes...)
		if f := x.failures[id]; f != nil {
			f.cancelRetry()
			delete(x.failures, id)
		}
		x.memories.forgetMemo(x.scope, id)
	} else {
		x.index(id, event, everyHandler)
	}
	x.tellChanged()
}

// index calls the wanted indexing functions that match an object and are due for it, and removes its
// entries from the indices whose handlers do not match.
func (x *indexer) index(id string, event watch.Event, wanted func(*handlers.Handler) bool) {
	object := event.Object
	defer object.DropTree() // it may stay in the queue for long
	memo, identity := x.recall(id, event)
	res := x.resource.resource
	cause := &handlers.Cause{Resource: res, Object: object, EventType: event.Type, Context: x.ctx, Views: &handlers.Views{Memo: memo}}
	selected, decisions, err := x.match(cause)
	if err != nil {
		x.deps.objectLogger(res, object).With(observe.ErrorAttrs(err)...).Error(
			"Cannot index the object; keeping its previous entries", observe.EventKey, observe.LogIndexFailed)
		return
	}
	var subject *observe.Subject
	if len(selected) > 0 || decisions != nil {
		subject = x.subject(identity, object)
	}
	f := x.failures[id]
	for _, h := range selected {
		if !wanted(h) || f != nil && f.failures[h.ID].excluded(x.deps.now()) {
			continue
		}
		a, out, ok := x.attempt(h, subject, cause, memo, f)
		if !ok {
			return // the stream has ended
		}
		f = x.store(h, id, a, out, f)
	}
	for _, index := range x.resource.indexes {
		if !hasID(selected, index) {
			x.removeEntries(id, index)
		}
	}
	if decisions != nil {
		observe.Tell(x.deps.sink, observe.ObjectIndexed{Subject: subject, Decisions: decisions, Failures: f.reported()})
	}
	if f != nil {
		x.scheduleRetry(id, f, event, selected)
	}
}

// subject returns the subject of events about indexing an object. The lines of its logger are not
// posted as Kubernetes events.
func (x *indexer) subject(identity *observe.Identity, obj *object.Object) *observe.Subject {
	res := x.resource.resource
	return &observe.Subject{
		Identity: identity, Resource: res, Object: obj, Reference: reference(obj),
		Logger: x.deps.objectLogger(res, obj), Recorder: x.deps.recorder(res, obj),
		Secrets: x.deps.settings.Redaction.Of(res, obj),
	}
}

// recall returns the memo of an object, and its identity. The identity is nil if the object is only
// indexed, since nothing else is remembered of it.
func (x *indexer) recall(id string, event watch.Event) (memo any, identity *observe.Identity) {
	if x.resource.onlyIndexed {
		return x.memories.memo(x.scope, id, x.deps.newMemo), nil
	}
	key := queue.Key{Resource: x.scope.Resource, Object: id}
	m := x.memories.recall(key, event.Object.Namespace, event.Type == watch.Listed, x.deps.newMemo)
	return m.memo, m.identity
}

// match returns the indexing functions that match an object. If a subscriber needs them, it also returns
// the decisions about all indexing functions.
func (x *indexer) match(cause *handlers.Cause) (selected []*handlers.Handler, decisions []handlers.Decision, err error) {
	defer recoverPanic(&err)
	set := x.resource.handlers
	if set.NeedsTree(handlers.Indexing) {
		if cause.Tree, err = cause.Object.Tree(); err != nil {
			return nil, nil, err
		}
	}
	if x.deps.sink.Wants(observe.KindObjectIndexed) {
		decisions = set.Explain(handlers.Indexing, cause)
	}
	return set.Selected(handlers.Indexing, cause), decisions, nil
}

// attempt calls an indexing function once. It returns false if the stream has ended meanwhile: the
// result must not count then.
func (x *indexer) attempt(h *handlers.Handler, subject *observe.Subject, cause *handlers.Cause, memo any, f *failedObject) (*attempt, handlers.Outcome, bool) {
	a := &attempt{
		subject: subject,
		call: &handlers.Call{
			Cause: cause, Handler: h, Memo: memo,
			Logger: subject.Logger.With(observe.HandlerKey, h.ID), Recorder: subject.Recorder,
		},
		backoff: x.deps.settings.DefaultBackoff,
	}
	if f != nil {
		failure := f.failures[h.ID]
		a.retries, a.started = failure.Retries, failure.Started
	}
	slow := time.AfterFunc(slowIndexing, func() {
		subject.Logger.Warn(fmt.Sprintf("%s is slow; no event of any %s is handled until it returns", h, cause.Resource.Plural),
			observe.EventKey, observe.LogIndexSlow)
	})
	defer slow.Stop()
	out, ok := x.invoker.try(x.ctx, a)
	return a, out, ok
}

func everyHandler(*handlers.Handler) bool { return true }

func hasID(hs []*handlers.Handler, id string) bool {
	return slices.ContainsFunc(hs, func(h *handlers.Handler) bool { return h.ID == id })
}

// store stores the result of an attempt in the index. If the attempt failed, it removes the entries of
// the object and remembers the failure.
func (x *indexer) store(h *handlers.Handler, id string, a *attempt, out handlers.Outcome, f *failedObject) *failedObject {
	index, object := x.deps.indices.Find(h.ID), index.Object{Scope: x.scope, ID: id}
	switch {
	case out.Err != nil:
		index.Discard(object)
	case out.Result != nil:
		x.hideIndex(h.ID, a.subject.Secrets, out.Result)
		index.Replace(object, out.Result)
	}
	if f == nil {
		if out.Final && out.Err == nil {
			return nil
		}
		f = &failedObject{failures: indexFailures{}}
		x.failures[id] = f
	}
	f.failures.record(h.ID, out, a.began, a.ended)
	return f
}

// hideIndex hides the values of an index from now on if the values for an object contain a hidden value of it.
func (x *indexer) hideIndex(id string, secrets *redact.Secrets, values any) {
	if secrets == nil || x.deps.hidesIndex(id) {
		return
	}
	leaks := func(text string) bool { return secrets.Text(text) != text }
	if slices.ContainsFunc(index.Texts(values), leaks) {
		x.deps.hiddenIndices.Store(id, true)
	}
}

// scheduleRetry retries the selected handlers that have failed when their delays are over, even if
// the object does not change until then.
func (x *indexer) scheduleRetry(id string, f *failedObject, event watch.Event, selected []*handlers.Handler) {
	f.cancelRetry()
	if len(f.failures) == 0 {
		delete(x.failures, id)
		return
	}
	due, waiting := f.failures.next(func(id string) bool { return hasID(selected, id) })
	if !waiting {
		return
	}
	f.event = event
	var timer *time.Timer
	timer = time.AfterFunc(due.Sub(x.deps.now()), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if f.timer == timer && x.ctx != nil && x.ctx.Err() == nil {
			x.index(id, f.event, func(h *handlers.Handler) bool { _, failed := f.failures[h.ID]; return failed })
			x.tellChanged()
		}
	})
	f.timer = timer
}

// removeEntries removes the entries of an object from some indices.
func (x *indexer) removeEntries(id string, indices ...string) {
	for _, idx := range indices {
		x.deps.indices.Find(idx).Discard(index.Object{Scope: x.scope, ID: id})
	}
}

// tellChanged tells that the contents of the indices may have changed.
func (x *indexer) tellChanged() {
	observe.Tell(x.deps.sink, observe.IndexChanged{IDs: x.resource.indexes})
}
