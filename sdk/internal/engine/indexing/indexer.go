// Package indexing keeps the in-memory indices of objects up to date.
package indexing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
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

// Indexer maintains the indices of the objects of one scope. The stream calls it before it queues an event. So objects are
// indexed before their handlers are called, in the order of their versions, and all of them when the listing ends.
type Indexer struct {
	deps      *core.Deps
	memories  *memory.Memories
	invoker   *call.Invoker
	scope     resources.Scope
	Abandoned bool // an indexing function does not return; guarded by the lock of the streams

	mu       sync.Mutex
	Resource *core.ServedResource
	ctx      context.Context // context of the stream; nil while there is none
	failures map[string]*failedObject
	answers  indexedAnswers // answers of the current stream
}

// NewIndexer returns the indexer of the objects of one resource in a scope.
func NewIndexer(d *core.Deps, m *memory.Memories, i *call.Invoker, scope resources.Scope) *Indexer {
	return &Indexer{deps: d, memories: m, invoker: i, scope: scope, failures: map[string]*failedObject{}, answers: indexedAnswers{}}
}

// Start starts indexing when a stream starts. The definition of the resource may have changed since the last stream.
func (x *Indexer) Start(ctx context.Context, res *core.ServedResource) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx, x.Resource, x.answers = ctx, res, indexedAnswers{}
	for id, f := range x.failures {
		maps.DeleteFunc(f.failures, func(index string, _ indexFailure) bool { return !slices.Contains(res.Indexes, index) })
		if len(f.failures) == 0 {
			delete(x.failures, id)
		}
	}
}

// Stop cancels all retries when the stream ends. The indices keep their entries.
func (x *Indexer) Stop() {
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

// Handling records that an object is being handled until the returned function is called.
func (x *Indexer) Handling(id string) (end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	answers := x.answers
	answers.begin(id)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		answers.end(id)
	}
}

// Offer indexes the version of an object that the operator's patch made, before its handlers are called. It may only be
// called between Handling and its end. A nil indexer does nothing.
func (x *Indexer) Offer(answer *object.Object) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	id := queue.KeyOf(x.scope.Resource, answer).Object
	if x.ctx == nil || x.ctx.Err() != nil || !x.answers.accept(id, answer.ResourceVersion) {
		return // the object was deleted, or the next stream lists all objects
	}
	x.index(id, watch.Event{Type: watch.Modified, Object: answer}, false)
	x.emitChanged()
}

// Clear removes the entries of all objects after the stream has ended. It skips the indices to keep, which stay complete
// while the objects are listed again.
func (x *Indexer) Clear(keep []string) {
	if x == nil {
		return
	}
	for _, id := range x.Resource.Indexes {
		if !slices.Contains(keep, id) {
			x.deps.Indices.Find(id).Retain(x.scope, func(string) bool { return false })
		}
	}
	x.emitChanged()
}

// Retain removes the entries of all objects that do not exist.
func (x *Indexer) Retain(existing map[queue.Key]bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	exists := func(id string) bool { return existing[queue.Key{Resource: x.scope.Resource, Object: id}] }
	for _, id := range x.Resource.Indexes {
		x.deps.Indices.Find(id).Retain(x.scope, exists)
	}
	for id, f := range x.failures {
		if !exists(id) {
			f.cancelRetry()
			delete(x.failures, id)
		}
	}
	x.emitChanged()
}

// Forget removes the entries of objects that another replica takes over.
func (x *Indexer) Forget(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		delete(x.answers, id)
		x.remove(id)
	}
	x.emitChanged()
}

// Handle indexes the object of an event, or removes its entries if it was deleted.
func (x *Indexer) Handle(event watch.Event) {
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
		x.remove(id)
		x.memories.ForgetMemo(x.scope, id)
	} else {
		x.index(id, event, false)
	}
	x.emitChanged()
}

// index calls the indexing functions that match an object and are due; a retry calls only those that have failed. It removes
// the object's entries from all indices that do not match.
func (x *Indexer) index(id string, event watch.Event, retry bool) {
	object := event.Object
	defer object.DropTree() // the object may stay in the queue for long
	memo, identity := x.recall(id, event)
	res := x.Resource.Resource
	cause := &handlers.Cause{Resource: res, Object: object, EventType: event.Type, Context: x.ctx, Views: &handlers.Views{Memo: memo}}
	selected, decisions, err := x.match(cause)
	if err != nil {
		x.deps.ObjectLogger(res, object).With(observe.ErrorAttrs(err)...).Error(
			"Cannot index the object; keeping its previous entries", observe.EventKey, observe.LogIndexFailed)
		return
	}
	var subject *observe.Subject
	if len(selected) > 0 || decisions != nil {
		subject = x.deps.UnpostedSubject(identity, res, object)
	}
	f := x.failures[id]
	if f == nil {
		f = &failedObject{failures: indexFailures{}}
	}
	for _, h := range selected {
		failure, failed := f.failures[h.ID]
		if retry && !failed || failure.excluded(x.deps.Now()) {
			continue
		}
		if !x.attempt(h, id, subject, cause, f) {
			return // the stream has ended
		}
	}
	for _, index := range x.Resource.Indexes {
		if !slices.ContainsFunc(selected, func(h *handlers.Handler) bool { return h.ID == index }) {
			x.removeEntries(id, index)
		}
	}
	if decisions != nil {
		observe.Emit(x.deps.Sink, observe.ObjectIndexed{Subject: subject, Decisions: decisions, Failures: f.reported()})
	}
	x.scheduleRetry(id, f, event, selected)
}

// recall returns the memo of an object, and its identity. The operator remembers only the memo of an object that is only indexed.
func (x *Indexer) recall(id string, event watch.Event) (memo any, identity *observe.Identity) {
	if x.Resource.OnlyIndexed {
		return x.memories.Memo(x.scope, id, x.deps.NewMemo), nil
	}
	key := queue.Key{Resource: x.scope.Resource, Object: id}
	m := x.memories.Recall(key, event.Object.Namespace, event.Type == watch.Listed, x.deps.NewMemo)
	return m.Memo, m.Identity
}

// match returns the indexing functions that match an object, and the decisions about all of them if a subscriber wants these.
func (x *Indexer) match(cause *handlers.Cause) (selected []*handlers.Handler, decisions []handlers.Decision, err error) {
	defer core.RecoverPanic(&err)
	set := x.Resource.Handlers
	if set.NeedsTree(handlers.Indexing) {
		if cause.Tree, err = cause.Object.Tree(); err != nil {
			return nil, nil, err
		}
	}
	if x.deps.Sink.Wants(observe.KindObjectIndexed) {
		decisions = set.Explain(handlers.Indexing, cause)
	}
	return set.Selected(handlers.Indexing, cause), decisions, nil
}

// attempt calls an indexing function once, and stores the result in the index. If the attempt fails, it removes the object's
// entries and records the failure. It returns false if the stream ended during the call; then the result must not count.
func (x *Indexer) attempt(h *handlers.Handler, id string, subject *observe.Subject, cause *handlers.Cause, f *failedObject) bool {
	failure := f.failures[h.ID]
	a := &call.Attempt{
		Subject: subject,
		Call: &handlers.Call{
			Cause: cause, Handler: h, Memo: cause.Views.Memo,
			Logger: subject.Logger.With(observe.HandlerKey, h.ID), Recorder: subject.Recorder,
		},
		Backoff: x.deps.Settings.DefaultBackoff, Retries: failure.Retries, Started: failure.Started,
	}
	slow := time.AfterFunc(slowIndexing, func() {
		subject.Logger.Warn(fmt.Sprintf("%s is slow; no event of any %s is handled until it returns", h, cause.Resource.Plural),
			observe.EventKey, observe.LogIndexSlow)
	})
	defer slow.Stop()
	out, ok := x.invoker.Try(x.ctx, a)
	if !ok {
		return false
	}
	index, object := x.deps.Indices.Find(h.ID), index.Object{Scope: x.scope, ID: id}
	switch {
	case out.Err != nil:
		index.Discard(object)
	case out.Result != nil:
		x.hideIndex(h.ID, subject.Secrets, out.Result)
		index.Replace(object, out.Result)
	}
	if f.failures.record(h.ID, out, a.Began, a.Ended); len(f.failures) > 0 {
		x.failures[id] = f
	}
	return true
}

// hideIndex hides the values of an index, permanently, if the values for an object contain a hidden value of the object.
func (x *Indexer) hideIndex(id string, secrets *redact.Secrets, values any) {
	if secrets == nil || x.deps.HidesIndex(id) {
		return
	}
	leaks := func(text string) bool { return secrets.Text(text) != text }
	if slices.ContainsFunc(index.Texts(values), leaks) {
		x.deps.HiddenIndices.Store(id, true)
	}
}

// scheduleRetry schedules a retry of the selected handlers that failed, even if the object does not change.
func (x *Indexer) scheduleRetry(id string, f *failedObject, event watch.Event, selected []*handlers.Handler) {
	f.cancelRetry()
	if len(f.failures) == 0 {
		delete(x.failures, id)
		return
	}
	due, waiting := f.failures.next(selected)
	if !waiting {
		return
	}
	f.event = event
	var timer *time.Timer
	timer = time.AfterFunc(due.Sub(x.deps.Now()), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if f.timer == timer && x.ctx != nil && x.ctx.Err() == nil {
			x.index(id, f.event, true)
			x.emitChanged()
		}
	})
	f.timer = timer
}

// remove removes an object from all indices, and forgets its failures.
func (x *Indexer) remove(id string) {
	x.removeEntries(id, x.Resource.Indexes...)
	if f := x.failures[id]; f != nil {
		f.cancelRetry()
		delete(x.failures, id)
	}
}

func (x *Indexer) removeEntries(id string, indices ...string) {
	for _, idx := range indices {
		x.deps.Indices.Find(idx).Discard(index.Object{Scope: x.scope, ID: id})
	}
}

// emitChanged emits that the contents of the indices may have changed.
func (x *Indexer) emitChanged() {
	observe.Emit(x.deps.Sink, observe.IndexChanged{IDs: x.Resource.Indexes})
}
