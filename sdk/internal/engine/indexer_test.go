package engine

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
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// indexerOf returns an indexer of pods with indexing functions by the IDs of their indices.
func indexerOf(t testing.TB, log *bytes.Buffer, hs ...*handlers.Handler) (*indexer, *index.Index[string, string]) {
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
	d := bareDeps(t, registry, slog.New(slog.NewTextHandler(log, nil)))
	x := newIndexer(d, &memories{}, newInvoker(d.now, d.sink, 0), resources.Scope{Resource: pods.Key()})
	x.start(t.Context(), newServedResource(registry, &pods, false))
	return x, d.indices.Find(hs[0].ID).(*index.Index[string, string])
}

func TestIndexer_PanicIsLoggedAndIgnored(t *testing.T) {
	log := &bytes.Buffer{}
	fails := false
	x, index := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
		if fails {
			panic(errIndexing)
		}
		return byVersion(ctx, call)
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	fails = true
	x.handle(pod(watch.Modified, "a", "2"))
	if len(index.Get("1")) != 1 || !strings.Contains(log.String(), "Indexer 'x' failed with an exception and will ignore it: panic: boom") {
		t.Errorf("values %v\n%s", index.Pairs(), log)
	}
}

func TestIndexer_SlowHandlerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		x, _ := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			time.Sleep(2 * slowIndexing)
			return byVersion(ctx, call)
		}})
		x.handle(pod(watch.Listed, "a", "1"))
		synctest.Wait()
		if !strings.Contains(log.String(), "Indexer 'x' is slow; no event of any pods is handled until it returns") {
			t.Error(log)
		}
	})
}

func TestIndexer_ClearRemovesEntriesOfScopeOnly(t *testing.T) {
	x, idx := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: byVersion})
	elsewhere := index.Object{Scope: resources.Scope{Resource: "others.v1"}, ID: "uid-a"}
	idx.Set(elsewhere, map[string]string{"2": "other"})
	x.handle(pod(watch.Listed, "a", "1"))
	x.clear(nil)
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
		return byVersion(ctx, call)
	}})
	x.start(ctx, x.resource)
	x.handle(pod(watch.Listed, "a", "1"))
	x.handle(pod(watch.Listed, "b", "1")) // as there may be many more in a listing
	if pairs := index.Pairs(); len(pairs) > 0 || calls != 1 {
		t.Errorf("values %v after %d calls", pairs, calls)
	}
}

func TestIndexer_PanickingFilterKeepsPreviousEntries(t *testing.T) {
	log := &bytes.Buffer{}
	fails := false
	x, index := indexerOf(t, log, &handlers.Handler{ID: "x", Invoke: byVersion, When: func(_ context.Context, c *handlers.Cause) bool {
		if fails && c.Object.Name == "a" {
			panic("filtered badly")
		}
		return true
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	fails = true
	x.handle(pod(watch.Modified, "a", "2"))
	x.handle(pod(watch.Modified, "b", "2"))
	if got := len(index.Get("1")) + len(index.Get("2")); got != 2 || !strings.Contains(log.String(), "filtered badly") || !strings.Contains(log.String(), "indexer_test.go") {
		t.Errorf("values %v\n%s", index.Pairs(), log)
	}
	fails = false
	x.handle(pod(watch.Modified, "a", "3"))
	if len(index.Get("1")) != 0 || len(index.Get("3")) != 1 {
		t.Errorf("values %v", index.Pairs())
	}
}

func TestIndexer_IndicesOfOneResourceAreIndependent(t *testing.T) {
	fails := &handlers.Handler{ID: "x", Invoke: func(context.Context, *handlers.Call) (any, error) { return nil, later{time.Hour} }}
	never := &handlers.Handler{ID: "z", Invoke: byVersion, When: func(context.Context, *handlers.Cause) bool { return false }}
	x, index := indexerOf(t, &bytes.Buffer{}, fails, &handlers.Handler{ID: "y", Invoke: byVersion}, never)
	x.handle(pod(watch.Listed, "a", "1"))
	x.handle(pod(watch.Modified, "a", "2"))
	others := map[string]int{}
	for _, id := range []string{"y", "z"} {
		others[id] = x.deps.indices.Find(id).Size().Values
	}
	if index.Len() != 0 || others["y"] != 1 || others["z"] != 0 {
		t.Errorf("x has %v, the others %v", index.Pairs(), others)
	}
	x.stop()
}

func TestIndexer_RetainKeepsListedObjectsOnly(t *testing.T) {
	x, index := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: byVersion})
	x.handle(pod(watch.Listed, "a", "1"))
	x.handle(pod(watch.Listed, "b", "1"))
	x.stop()
	x.start(t.Context(), x.resource)
	b := pod(watch.Listed, "b", "2")
	x.handle(b)
	if n := index.Len(); n != 2 {
		t.Errorf("%d keys during the listing", n)
	}
	x.retain(map[queue.Key]bool{queue.KeyOf(pods.Key(), b.Object): true})
	if pairs := index.Pairs(); len(pairs) != 1 || pairs[0].Value != "b" {
		t.Errorf("values %v", pairs)
	}
}

func TestIndexer_InspectorShowsObjectOnceItIsProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			if call.Retry == 0 {
				return nil, later{time.Minute}
			}
			return byVersion(ctx, call)
		}})
		hub := inspector.NewHub(inspector.HubOptions{})
		d := x.deps
		d.sink.Subscribe(observe.NewInspector(observe.InspectorOptions{Hub: hub, Registry: d.registry, Indices: d.indices, Started: d.now()}))
		observe.Tell(d.sink, observe.ResourcesServed{Resolution: &resources.Resolution{Served: []resources.Resource{pods}}})
		x.start(t.Context(), newServedResource(d.registry, &pods, true))
		event := pod(watch.Listed, "a", "1")
		x.handle(event)
		if objects := hub.Snapshot().Objects; len(objects) != 0 {
			t.Errorf("shown before the worker has processed it: %+v", objects)
		}

		// As the worker does:
		for _, m := range x.memories.all() {
			subject := d.subject(m.identity, &pods, event.Object)
			observe.Tell(d.sink, observe.Planned{Subject: subject, Handlers: x.resource.handlers, At: d.now()})
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
		x.handle(pod(watch.Deleted, "a", "2"))
		if size := hub.Snapshot().Indices[0]; size.Keys != 0 || size.Values != 0 || size.Objects != 0 {
			t.Errorf("%+v", size)
		}
	})
}

func TestIndexer_NoExtraWorkWithoutInspector(t *testing.T) {
	looks := 0
	x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: byVersion, When: func(context.Context, *handlers.Cause) bool {
		looks++
		return true
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	if n := len(x.memories.all()); n != 0 {
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
