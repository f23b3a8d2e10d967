package cycle

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The process has an old list with a record of an update by another process, which is finished and ends, or is not finished.
func TestProcessor_RecordsOfAnotherProcessAreCompared(t *testing.T) {
	const key, record = "kopf.zalando.org/one", `{"started":"2020-01-01T00:00:00.000000","purpose":"update","retries":1,"success":true,"failure":false}`
	for name, test := range map[string]struct {
		unfinished, newer, unread, absent, uses bool
		again                                   time.Duration // next cycle if no event arrives; 0 for at once
	}{
		"finished":                {uses: true},
		"finished, newer records": {newer: true},
		"finished, unreadable":    {unread: true, again: 17 * time.Second},
		"finished, absent":        {absent: true},
		"unfinished":              {unfinished: true, uses: true},
		"unfinished, newer":       {unfinished: true, newer: true},
		"unfinished, unreadable":  {unfinished: true, unread: true, again: 17 * time.Second},
		"unfinished, absent":      {unfinished: true, absent: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecordServer(t)
			d := newStepCycle(t, t.Context(), s).deps
			pods := resources.Selector{Core: true, Version: "v1", Name: "pods"}
			d.Registry.Add(&handlers.Handler{ID: "one", Family: handlers.Update, Selector: pods, Invoke: func(context.Context, *handlers.Call) (any, error) {
				if !test.unfinished || !test.uses {
					t.Error("the handler is called for an old version")
				}
				return nil, nil
			}})
			d.Registry.Add(&handlers.Handler{ID: "event", Family: handlers.Event, Selector: pods, Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
				call.Patch.Set(object.Path{"metadata", "annotations", "seen"}, "yes")
				return nil, nil
			}})
			d.Settings.Lifecycle = handlers.AllAtOnce
			d.Settings.Finalizer, d.Settings.ErrorDelays = "kopf.dev/marker", slices.Values([]time.Duration{17 * time.Second})
			annotations := func(values map[string]any, value int) map[string]any {
				return map[string]any{"metadata": map[string]any{"annotations": values}, "spec": map[string]any{"f": value}}
			}
			values, value := map[string]any{"kopf.zalando.org/last-handled-configuration": `{"spec":{"f":1}}`, key: record}, 1
			if test.unfinished {
				values[key], value = strings.ReplaceAll(record, "true", "false"), 2
			}
			old := s.change(annotations(values, value))
			if test.newer {
				s.change(annotations(map[string]any{key: strings.ReplaceAll(record, "2020", "2021")}, 2))
			}
			s.unread, s.absent = test.unread, test.absent
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
			if removed != test.uses || !seen || !test.uses && (next == nil || next.After != test.again) {
				t.Errorf("the record is removed: %t; the patch of the event handler is sent: %t; next: %v; patches: %v", removed, seen, next, s.patches)
			}
		})
	}
}
