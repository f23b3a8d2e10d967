package cycle

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The cycle calls no handler, and no event of the object follows.
func TestHoldChanges_ObjectIsHandledAgainAfterItsChangesAreDiscarded(t *testing.T) {
	api := httptest.NewServer(&patchServer{t: t, uid: "uid"})
	t.Cleanup(api.Close)
	given, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(given.Close)
	registry := &handlers.Registry{}
	registry.Add(&handlers.Handler{
		ID: "create", Family: handlers.Create, Selector: resources.Selector{Core: true, Version: "v1", Name: "pods"},
		Invoke: func(context.Context, *handlers.Call) (any, error) { return nil, errors.New("the handler is called") },
	})
	d := enginetest.BareDeps(t, registry, slog.New(slog.DiscardHandler))
	d.Client = kube.NewClient(given, kube.ClientOptions{}).WithoutRetries()
	d.Settings.Progress, d.Settings.DiffBase = state.NewSmartProgress(), state.NewAnnotationsDiffBase()
	d.Settings.ErrorDelays = slices.Values([]time.Duration{time.Second})
	d.Failures = state.FailuresBeside(d.Settings.Progress)
	p := &Processor{
		deps: d, memories: &memory.Memories{}, resources: oneServed{core.NewServedResource(registry, &enginetest.Pods, true)},
		passes: core.NoPasses, conditions: core.NoConditions,
	}
	decisions := make(chan *queue.Next, 1)
	q := queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
		m := p.memories.Recall(batch.Key, "ns", false, d.NewMemo)
		changes := patch.NewPatch()
		changes.AddFn(func(map[string]any) error { return errors.New("it never succeeds") })
		m.Outbox.Put(outbox.Writes{Handlers: changes, Own: patch.NewPatch(), About: []string{"created"}, Since: time.Unix(1, 0)})
		next := p.Process(ctx, batch)
		if m.Outbox.Held != nil {
			t.Errorf("held: %+v", m.Outbox.Held)
		}
		decisions <- next
		return nil
	}})
	t.Cleanup(func() {
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
	})
	d.Queue = q
	q.Put(enginetest.Pods.Key(), watch.Event{Type: watch.Modified, Object: object.Stub("v1", "Pod", "ns", "a", "uid", "5")})
	if next := <-decisions; next == nil {
		t.Error("the object waits for an event")
	}
}
