package cycle

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// podsOnly serves one resource.
type podsOnly struct{}

func (podsOnly) Served(string) *core.ServedResource { return &core.ServedResource{} }

func (podsOnly) Indexer(_, _ string) *indexing.Indexer { return nil }

func TestConsistency_LostWriteOfThrottledObjectIsForgotten(t *testing.T) {
	version := func(v string) *object.Object { return object.Stub("v1", "Pod", "ns", "x", "uid", v) }
	p := &Processor{deps: &core.Deps{State: &core.RunState{}, Now: time.Now}, memories: &memory.Memories{}, resources: podsOnly{}}
	key := queue.KeyOf("pods", version("5"))
	m := p.memories.Recall(key, "ns", false, nil)
	m.Ledger.Wrote(version("7"), time.Now())
	m.Throttle.Failed(time.Now(), slices.Values([]time.Duration{time.Hour}))
	next := p.Process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: version("5")}, Complete: 9})
	if next == nil || m.Ledger.Answer != nil {
		t.Errorf("next is %v; going on with %v", next, m.Ledger.Answer)
	}
}

func TestProcessor_LateEventMakesNoMemory(t *testing.T) {
	p := &Processor{deps: &core.Deps{State: &core.RunState{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Settings: &core.Settings{}}, memories: &memory.Memories{}, resources: podsOnly{}}
	old := object.Stub("v1", "Pod", "ns", "x", "uid", "6")
	key := queue.KeyOf("pods", old)
	p.deps.Graves.Bury("pods", "uid", "7")
	// A daemon that ends while its object is forgotten requeues the object like this.
	if next := p.Process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: old}}); next != nil {
		t.Errorf("next is %v", next)
	}
	if p.memories.Find(key) != nil {
		t.Error("the object is remembered")
	}
}
