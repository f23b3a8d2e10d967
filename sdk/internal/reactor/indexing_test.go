package reactor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
	"github.com/kopf-dev/kopf/sdk/internal/resource"
	"github.com/kopf-dev/kopf/sdk/internal/watching"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

var pods = resource.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}

// indexerOf makes an indexer of pods with the functions, by the ids of their indices.
func indexerOf(t testing.TB, log *bytes.Buffer, handlers ...*handler.Handler) (*indexer, *indexing.Index[string, string]) {
	t.Helper()
	registry := &handler.Registry{}
	for _, h := range handlers {
		selector, err := resource.Parse("v1", "pods")
		if err != nil {
			t.Fatal(err)
		}
		h.Family, h.Selector, h.Fn = handler.Index, selector, h.ID
		h.NewIndex = func() indexing.Container { return indexing.New[string, string]() }
		registry.Add(h)
	}
	o := &operator{
		config: Config{Registry: registry}, settings: Settings{DefaultBackoff: time.Minute}, now: time.Now,
		logger: slog.New(slog.NewTextHandler(log, nil)), indices: makeIndices(registry),
	}
	x := newIndexer(o.server(&pods), dimension{resource: pods.Key()})
	x.begin(t.Context())
	return x, o.indices.Find(handlers[0].ID).(*indexing.Index[string, string])
}

func pod(kind, name, version string) watching.Event {
	return watching.Event{Type: kind, Object: wire.Stub("v1", "Pod", "default", name, "uid-"+name, version)}
}

// byVersion indexes the names of objects by their versions.
func byVersion(_ context.Context, call *handler.Call) (any, error) {
	o := call.Cause.Object
	return map[string]string{o.ResourceVersion: o.Name}, nil
}

// later is a temporary error.
type later struct{ delay time.Duration }

func (later) Error() string                      { return "later" }
func (e later) KopfDelay() (time.Duration, bool) { return e.delay, true }

var _ outcome.Temporary = later{}

func TestIndexingIsTriedAgainWithTheNewestVersionAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), []string(nil)
		var started time.Time
		x, index := indexerOf(t, &bytes.Buffer{}, &handler.Handler{ID: "x", Invoke: func(ctx context.Context, call *handler.Call) (any, error) {
			calls = append(calls, fmt.Sprintf("%s v%s #%d", time.Since(began), call.Cause.Object.ResourceVersion, call.Retry))
			if started = call.Started; call.Retry < 2 {
				return nil, later{10 * time.Second}
			}
			return byVersion(ctx, call)
		}})
		x.handle(pod(watching.Listed, "a", "1"))
		time.Sleep(5 * time.Second)
		x.handle(pod(watching.Modified, "a", "2"))
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "0s v1 #0, 10s v2 #1, 20s v2 #2"
		if got := strings.Join(calls, ", "); got != want {
			t.Errorf("called %s; want %s", got, want)
		}
		if !started.Equal(began) || len(index.Get("2")) != 1 || len(x.failures) != 0 {
			t.Errorf("started %v, values %v, failures %v", started, index.Pairs(), x.failures)
		}
	})
}

func TestNothingIsTriedAgainBetweenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		x, _ := indexerOf(t, &bytes.Buffer{}, &handler.Handler{ID: "x", Invoke: func(context.Context, *handler.Call) (any, error) {
			calls++
			return nil, later{10 * time.Second}
		}})
		x.handle(pod(watching.Listed, "a", "1"))
		x.end()
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
		x.begin(t.Context())
		x.handle(pod(watching.Listed, "a", "1"))
		x.handle(pod(watching.Deleted, "a", "1"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 2 || len(x.failures) != 0 {
			t.Errorf("%d calls, %d failures", calls, len(x.failures))
		}
	})
}

func TestAnIndexingFunctionThatPanicsIsLoggedAndIgnored(t *testing.T) {
	log := &bytes.Buffer{}
	fails := false
	x, index := indexerOf(t, log, &handler.Handler{ID: "x", Invoke: func(ctx context.Context, call *handler.Call) (any, error) {
		if fails {
			panic(errBoom)
		}
		return byVersion(ctx, call)
	}})
	x.handle(pod(watching.Listed, "a", "1"))
	fails = true
	x.handle(pod(watching.Modified, "a", "2"))
	if len(index.Get("1")) != 1 || !strings.Contains(log.String(), "Indexer 'x' failed with an exception and will ignore it: panic: boom") {
		t.Errorf("values %v\n%s", index.Pairs(), log)
	}
}

func TestASlowIndexingFunctionIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		x, _ := indexerOf(t, log, &handler.Handler{ID: "x", Invoke: func(ctx context.Context, call *handler.Call) (any, error) {
			time.Sleep(2 * slowIndexing)
			return byVersion(ctx, call)
		}})
		x.handle(pod(watching.Listed, "a", "1"))
		synctest.Wait()
		if !strings.Contains(log.String(), "Indexer 'x' takes its time: meanwhile, nothing is noticed of any pods.") {
			t.Error(log)
		}
	})
}

func TestWhatIsNotServedAnyMoreLeavesTheIndices(t *testing.T) {
	x, index := indexerOf(t, &bytes.Buffer{}, &handler.Handler{ID: "x", Invoke: byVersion})
	x.handle(pod(watching.Listed, "a", "1"))
	x.leave()
	x.handle(pod(watching.Modified, "b", "1")) // by a function that does not heed the end
	if pairs := index.Pairs(); len(pairs) > 0 {
		t.Errorf("values %v", pairs)
	}
}

func TestAfterAPauseOnlyWhatIsListedRemains(t *testing.T) {
	x, index := indexerOf(t, &bytes.Buffer{}, &handler.Handler{ID: "x", Invoke: byVersion})
	x.handle(pod(watching.Listed, "a", "1"))
	x.handle(pod(watching.Listed, "b", "1"))
	x.end()
	x.begin(t.Context())
	b := pod(watching.Listed, "b", "2")
	x.handle(b)
	if n := index.Len(); n != 2 {
		t.Errorf("%d keys during the listing", n)
	}
	x.retain(map[queueing.Key]bool{queueing.KeyOf(pods.Key(), b.Object): true})
	if pairs := index.Pairs(); len(pairs) != 1 || pairs[0].Value != "b" {
		t.Errorf("values %v", pairs)
	}
}

// objects are as they come from the cluster, with a body of common size.
func objects(tb testing.TB, n int) []watching.Event {
	tb.Helper()
	filler := strings.Repeat("x", 1000)
	events := make([]watching.Event, n)
	for i := range events {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"pod-%d","uid":"uid-%d",`+
			`"resourceVersion":"%d","labels":{"app":"app-%d"}},"spec":{"filler":"%s"}}`, i, i, i, i%10, filler)
		object, err := wire.Parse([]byte(raw), wire.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		events[i] = watching.Event{Object: object}
	}
	return events
}
