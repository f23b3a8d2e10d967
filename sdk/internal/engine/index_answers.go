package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// indexedAnswer is the version of an object that the operator's patch made and that was indexed before the stream has
// brought it.
type indexedAnswer struct {
	version string // empty if there is none, or the stream has brought it
	cycle   bool   // the object is being handled: there may be another one
}

// begin notes that an object is being handled. It is the condition for [indexer.offer], which must not index an object
// that the stream has reported as deleted meanwhile. All methods of a nil indexer do nothing.
func (x *indexer) begin(id string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answers == nil {
		x.answers = map[string]indexedAnswer{}
	}
	x.answers[id] = indexedAnswer{version: x.answers[id].version, cycle: true}
}

// end notes that an object is not being handled anymore.
func (x *indexer) end(id string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if answer, ok := x.answers[id]; ok && answer.version == "" {
		delete(x.answers, id)
	} else if ok {
		x.answers[id] = indexedAnswer{version: answer.version}
	}
}

// offer indexes the version of an object that the operator's patch made, before its handlers are called.
func (x *indexer) offer(answer *object.Object) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	id := queue.KeyOf(x.scope.Resource, answer).Object
	if _, exists := x.answers[id]; !exists || x.ctx == nil || x.ctx.Err() != nil {
		return // it was deleted, or the next stream lists all objects
	}
	x.answers[id] = indexedAnswer{version: answer.ResourceVersion, cycle: true}
	x.index(id, watch.Event{Type: watch.Modified, Object: answer}, everyHandler)
	x.tellChanged()
}

// knows reports whether the version of an event is not newer than one that was offered. The lock must be held.
func (x *indexer) knows(id string, event watch.Event) bool {
	answer, ok := x.answers[id]
	if !ok {
		return false
	}
	version := event.Object.ResourceVersion
	switch {
	case event.Type == watch.Deleted:
		delete(x.answers, id)
		return false
	case answer.version == "":
		return false
	case object.Precedes(version, answer.version) && event.Complete < numberOf(answer.version):
		return true
	case answer.cycle:
		x.answers[id] = indexedAnswer{cycle: true}
	default:
		delete(x.answers, id)
	}
	return version == answer.version
}
