package indexing

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// indexedAnswers are versions that the operator's patches made and that were indexed before the stream, by object id.
type indexedAnswers map[string]indexedAnswer

type indexedAnswer struct {
	version string // resourceVersion that a patch made; empty if there is none, or the stream has delivered it
	cycle   bool   // the object is being handled, so another version may follow
	seen    string // last version that the stream delivered while the object is being handled; empty if there is none
}

// begin records that an object is being handled. [indexedAnswers.accept] requires it.
func (a indexedAnswers) begin(id string) { a[id] = indexedAnswer{version: a[id].version, cycle: true} }

func (a indexedAnswers) end(id string) {
	if answer, ok := a[id]; ok && answer.version == "" {
		delete(a, id)
	} else if ok {
		a[id] = indexedAnswer{version: answer.version}
	}
}

// accept reports whether a version that a patch made may be indexed, and remembers it. The indices would keep the version
// for good if the stream has deleted the object since begin, or has delivered a newer version.
func (a indexedAnswers) accept(id, version string) bool {
	answer, exists := a[id]
	if !exists || object.Precedes(version, answer.seen) {
		return false
	}
	answer.version = version
	a[id] = answer
	return true
}

// knows reports whether the version of an event is not newer than the indexed one.
func (a indexedAnswers) knows(id string, event watch.Event) bool {
	answer, ok := a[id]
	if !ok {
		return false
	}
	version := event.Object.ResourceVersion
	switch {
	case event.Type == watch.Deleted:
		delete(a, id)
		return false
	case answer.version != "" && object.Precedes(version, answer.version) && event.Complete < core.NumberOf(answer.version):
		return true
	case answer.cycle:
		a[id] = indexedAnswer{cycle: true, seen: version}
	default:
		delete(a, id)
	}
	return version == answer.version
}
