package engine

import (
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

func TestMemory_WarnsOncePerObject(t *testing.T) {
	m, other := &memory{}, &memory{}
	if !m.flags.warnOnce("a") || m.flags.warnOnce("a") || !m.flags.warnOnce("b") || !other.flags.warnOnce("a") {
		t.Error("a warning is missing or repeated")
	}
}
