package indexing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// indexerOf returns an indexer of pods with indexing functions by the ids of their indices.
func indexerOf(t testing.TB, log *bytes.Buffer, hs ...*handlers.Handler) (*Indexer, *index.Index[string, string]) {
	t.Helper()
	registry := &handlers.Registry{}
	for _, h := range hs {
		selector, err := resources.ParseSelector("v1", "pods")
		if err != nil {
			t.Fatal(err)
		}
		h.Family, h.Selector, h.Fn = handlers.Index, selector, h.ID
		h.NewIndex = func() index.Container { return index.New[string, string]() }
		registry.Add(h)
	}
	d := enginetest.BareDeps(t, registry, slog.New(slog.NewTextHandler(log, nil)))
	x := NewIndexer(d, &memory.Memories{}, call.NewInvoker(d.Now, d.Sink, 0), resources.Scope{Resource: enginetest.Pods.Key()})
	x.Start(t.Context(), core.NewServedResource(registry, &enginetest.Pods, false))
	return x, d.Indices.Find(hs[0].ID).(*index.Index[string, string])
}

func TestIndexer_PanicIsLoggedAndIgnored(t *testing.T) {
	log := &bytes.Buffer{}
	fails := false
	x, index := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
		if fails {
			panic(errIndexing)
		}
		return enginetest.ByVersion(ctx, call)
	}})
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	fails = true
	x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
	if len(index.Get("1")) != 1 || !strings.Contains(log.String(), "Indexer 'x' failed with an exception and will ignore it: panic: boom") {
		t.Errorf("values %v\n%s", index.Pairs(), log)
	}
}

func TestIndexer_SlowHandlerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		x, _ := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			time.Sleep(2 * slowIndexing)
			return enginetest.ByVersion(ctx, call)
		}})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		synctest.Wait()
		if !strings.Contains(log.String(), "Indexer 'x' is slow; no event of any pods is handled until it returns") {
			t.Error(log)
		}
	})
}

func TestIndexer_ClearRemovesEntriesOfScopeOnly(t *testing.T) {
	x, idx := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: enginetest.ByVersion})
	elsewhere := index.Object{Scope: resources.Scope{Resource: "others.v1"}, ID: "uid-a"}
	idx.Set(elsewhere, map[string]string{"2": "other"})
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	x.Clear(nil)
	if pairs := idx.Pairs(); len(pairs) != 1 || pairs[0].Value != "other" {
		t.Errorf("values %v", pairs)
	}
}

func TestIndexer_ResultAfterEndOfStreamIsDiscarded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	x, index := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
		calls++
		cancel()
		return enginetest.ByVersion(ctx, call)
	}})
	x.Start(ctx, x.Resource)
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	x.Handle(enginetest.Pod(watch.Listed, "b", "1")) // a listing may contain many more objects
	if pairs := index.Pairs(); len(pairs) > 0 || calls != 1 {
		t.Errorf("values %v after %d calls", pairs, calls)
	}
}

func TestIndexer_PanickingFilterKeepsPreviousEntries(t *testing.T) {
	log := &bytes.Buffer{}
	fails := false
	x, index := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: enginetest.ByVersion, When: func(_ context.Context, c *handlers.Cause) bool {
		if fails && c.Object.Name == "a" {
			panic("filtered badly")
		}
		return true
	}})
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	fails = true
	x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
	x.Handle(enginetest.Pod(watch.Modified, "b", "2"))
	if got := len(index.Get("1")) + len(index.Get("2")); got != 2 || !strings.Contains(log.String(), "filtered badly") || !strings.Contains(log.String(), "indexer_test.go") {
		t.Errorf("values %v\n%s", index.Pairs(), log)
	}
	fails = false
	x.Handle(enginetest.Pod(watch.Modified, "a", "3"))
	if len(index.Get("1")) != 0 || len(index.Get("3")) != 1 {
		t.Errorf("values %v", index.Pairs())
	}
}

func TestIndexer_IndicesOfOneResourceAreIndependent(t *testing.T) {
	fails := &handlers.Handler{ID: "x", Invoke: func(context.Context, *handlers.Call) (any, error) { return nil, enginetest.Later{Delay: time.Hour} }}
	never := &handlers.Handler{ID: "z", Invoke: enginetest.ByVersion, When: func(context.Context, *handlers.Cause) bool { return false }}
	x, index := indexerOf(t, &bytes.Buffer{}, fails, &handlers.Handler{ID: "y", Invoke: enginetest.ByVersion}, never)
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
	others := map[string]int{}
	for _, id := range []string{"y", "z"} {
		others[id] = x.deps.Indices.Find(id).Size().Values
	}
	if index.Len() != 0 || others["y"] != 1 || others["z"] != 0 {
		t.Errorf("x has %v, the others %v", index.Pairs(), others)
	}
	x.Stop()
}

func TestIndexer_RetainKeepsListedObjectsOnly(t *testing.T) {
	x, index := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: enginetest.ByVersion})
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	x.Handle(enginetest.Pod(watch.Listed, "b", "1"))
	x.Stop()
	x.Start(t.Context(), x.Resource)
	b := enginetest.Pod(watch.Listed, "b", "2")
	x.Handle(b)
	if n := index.Len(); n != 2 {
		t.Errorf("%d keys during the listing", n)
	}
	x.Retain(map[queue.Key]bool{queue.KeyOf(enginetest.Pods.Key(), b.Object): true})
	if pairs := index.Pairs(); len(pairs) != 1 || pairs[0].Value != "b" {
		t.Errorf("values %v", pairs)
	}
}

func TestIndexer_InspectorShowsObjectOnceItIsProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			if call.Retry == 0 {
				return nil, enginetest.Later{Delay: time.Minute}
			}
			return enginetest.ByVersion(ctx, call)
		}})
		hub := inspector.NewHub(inspector.HubOptions{})
		d := x.deps
		d.Sink.Subscribe(observe.NewInspector(observe.InspectorOptions{Hub: hub, Registry: d.Registry, Indices: d.Indices, Started: d.Now()}))
		observe.Emit(d.Sink, observe.ResourcesServed{Resolution: &resources.Resolution{Served: []resources.Resource{enginetest.Pods}}})
		x.Start(t.Context(), core.NewServedResource(d.Registry, &enginetest.Pods, true))
		event := enginetest.Pod(watch.Listed, "a", "1")
		x.Handle(event)
		if objects := hub.Snapshot().Objects; len(objects) != 0 {
			t.Errorf("shown before the worker has processed it: %+v", objects)
		}

		// The worker does the same:
		for _, m := range x.memories.All() {
			subject := d.Subject(m.Identity, &enginetest.Pods, event.Object)
			observe.Emit(d.Sink, observe.Planned{Subject: subject, Handlers: x.Resource.Handlers, At: d.Now()})
		}
		phase := func() inspect.HandlerPhase {
			objects := hub.Snapshot().Objects
			if len(objects) != 1 || len(objects[0].Handlers) != 1 || objects[0].State != inspect.StateSettled {
				t.Fatalf("%+v", objects)
			}
			return objects[0].Handlers[0].State
		}
		if got := phase(); got != inspect.PhaseRetrying {
			t.Error(got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := phase(); got != inspect.PhaseDone {
			t.Error(got)
		}
		if size := hub.Snapshot().Indices[0]; size.Keys != 1 || size.Values != 1 || size.Objects != 1 {
			t.Errorf("%+v", size)
		}
		x.Handle(enginetest.Pod(watch.Deleted, "a", "2"))
		if size := hub.Snapshot().Indices[0]; size.Keys != 0 || size.Values != 0 || size.Objects != 0 {
			t.Errorf("%+v", size)
		}
	})
}

func TestIndexer_NoExtraWorkWithoutInspector(t *testing.T) {
	looks := 0
	x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: enginetest.ByVersion, When: func(context.Context, *handlers.Cause) bool {
		looks++
		return true
	}})
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	if n := len(x.memories.All()); n != 0 {
		t.Errorf("%d objects are remembered as if there were other handlers", n)
	}
	if looks != 1 {
		t.Errorf("the filter was called %d times", looks)
	}
}

// objects returns objects as the API server sends them, with bodies of a common size.
func objects(tb testing.TB, n int) []watch.Event {
	tb.Helper()
	filler := strings.Repeat("x", 1000)
	events := make([]watch.Event, n)
	for i := range events {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"pod-%d","uid":"uid-%d",`+
			`"resourceVersion":"%d","labels":{"app":"app-%d"}},"spec":{"filler":"%s"}}`, i, i, i, i%10, filler)
		object, err := object.Parse([]byte(raw), object.ParseOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		events[i] = watch.Event{Object: object}
	}
	return events
}

var errIndexing = errors.New("boom")
