package engine

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// inspected makes an indexer tell an inspector.
func inspected(x *indexer) *inspect.Hub {
	hub := inspect.NewHub(inspect.HubOptions{Index: x.indexPage})
	x.reporter = newReporter(hub, x.config.Registry, x.indices)
	x.reporter.serves([]resources.Resource{pods}, nil)
	x.server = x.operator.server(&pods)
	return hub
}

func TestWhatIsIndexedIsToldOnlyOnceTheObjectIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			if call.Retry == 0 {
				return nil, later{time.Minute}
			}
			return byVersion(ctx, call)
		}})
		hub := inspected(x)
		event := pod(watch.Listed, "a", "1")
		x.handle(event)
		if objects := hub.Snapshot().Objects; len(objects) != 0 {
			t.Errorf("told ahead of the others: %+v", objects)
		}

		// As the worker does:
		for _, m := range x.memories.all() {
			c := &cycle{server: x.server, memory: m, object: event.Object, report: x.reporter.reportOf(m, x.resource, event.Object)}
			c.report.observed(c)
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

func TestAnIndexCostsNothingMoreWithoutAnInspector(t *testing.T) {
	looks := 0
	x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: byVersion, When: func(*handlers.Cause) bool {
		looks++
		return true
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	if n := len(x.memories.all()); n != 0 {
		t.Errorf("%d objects are remembered as if there were handlers", n)
	}
	if looks != 1 {
		t.Errorf("the filter was asked %d times", looks)
	}
}
