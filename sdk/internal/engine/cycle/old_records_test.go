package cycle

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The process has an old list with a record of a finished update. Another process has begun the next update meanwhile.
func TestProcessor_OldRecordsAreComparedBeforeTheirRemoval(t *testing.T) {
	const key, record = "kopf.zalando.org/one", `{"started":"2020-01-01T00:00:00.000000","purpose":"update","retries":1,"success":true,"failure":false}`
	for name, test := range map[string]struct {
		newer, unread, removes bool
	}{
		"the same records":             {removes: true},
		"other records":                {newer: true},
		"an unreadable newest version": {unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecordServer(t)
			d := newStepCycle(t, t.Context(), s).deps
			pods := resources.Selector{Core: true, Version: "v1", Name: "pods"}
			d.Registry.Add(&handlers.Handler{ID: "one", Family: handlers.Update, Selector: pods, Invoke: func(context.Context, *handlers.Call) (any, error) {
				t.Error("the handler is called for an old version")
				return nil, nil
			}})
			d.Registry.Add(&handlers.Handler{ID: "event", Family: handlers.Event, Selector: pods, Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
				call.Patch.Set(object.Path{"metadata", "annotations", "seen"}, "yes")
				return nil, nil
			}})
			d.Settings.Finalizer, d.Settings.ErrorDelays = "kopf.dev/marker", queue.DefaultErrorDelays
			annotations := func(values map[string]any, value int) map[string]any {
				return map[string]any{"metadata": map[string]any{"annotations": values}, "spec": map[string]any{"f": value}}
			}
			old := s.change(annotations(map[string]any{"kopf.zalando.org/last-handled-configuration": `{"spec":{"f":1}}`, key: record}, 1))
			if test.newer {
				s.change(annotations(map[string]any{key: strings.ReplaceAll(record, "2020", "2021")}, 2))
			}
			s.lost = test.unread
			invoker := newStepCycle(t, t.Context(), s).invoker
			memories := &memory.Memories{}
			p := NewProcessor(d, memories, &memory.DetachedDaemons{Background: t.Context(), Sink: d.Sink}, invoker,
				oneResource{served: core.NewServedResource(d.Registry, &enginetest.Pods, true)}, core.NoPasses, core.NoConditions)
			obj, err := object.Parse(old, object.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var next *queue.Next
			ended := make(chan struct{})
			q := queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
				defer close(ended)
				next = p.Process(ctx, batch)
				return nil
			}})
			q.Put(enginetest.Pods.Key(), watch.Event{Type: watch.Listed, Object: obj})
			<-ended
			if err := q.Stop(); err != nil {
				t.Fatal(err)
			}
			removed, seen := false, false
			for _, merge := range s.patches {
				value, there := object.Annotations(merge)[key]
				removed = removed || there && value == nil
				seen = seen || object.Annotations(merge)["seen"] == "yes"
			}
			if removed != test.removes || !seen || !test.removes && next == nil {
				t.Errorf("the record is removed: %t; the patch of the event handler is sent: %t; next: %v; patches: %v", removed, seen, next, s.patches)
			}
		})
	}
}
