package engine

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// podsOnly serves one resource.
type podsOnly struct{}

func (podsOnly) served(string) *servedResource { return &servedResource{} }

func (podsOnly) indexer(_, _ string) *indexer { return nil }

func TestConsistency_LostWriteOfThrottledObjectIsForgotten(t *testing.T) {
	version := func(v string) *object.Object { return object.Stub("v1", "Pod", "ns", "x", "uid", v) }
	p := &processor{deps: &deps{state: &runState{}, now: time.Now}, memories: &memories{}, resources: podsOnly{}}
	key := queue.KeyOf("pods", version("5"))
	m := p.memories.recall(key, "ns", false, nil)
	m.ledger.wrote(version("7"), time.Now())
	m.throttle.Failed(time.Now(), slices.Values([]time.Duration{time.Hour}))
	next := p.process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: version("5")}, Complete: 9})
	if next == nil || m.ledger.answer != nil {
		t.Errorf("next is %v; going on with %v", next, m.ledger.answer)
	}
}

func TestProcessor_LateEventMakesNoMemory(t *testing.T) {
	p := &processor{deps: &deps{state: &runState{}, now: time.Now, logger: slog.New(slog.DiscardHandler), settings: &Settings{}}, memories: &memories{}, resources: podsOnly{}}
	old := object.Stub("v1", "Pod", "ns", "x", "uid", "6")
	key := queue.KeyOf("pods", old)
	p.deps.graves.bury("pods", "uid", "7")
	// As a daemon requeues its object that ends at the same time as the object is forgotten.
	if next := p.process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: old}}); next != nil {
		t.Errorf("next is %v", next)
	}
	if p.memories.find(key) != nil {
		t.Error("the object is remembered")
	}
}
