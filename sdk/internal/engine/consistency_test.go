package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func version(t *testing.T, text string) *object.Object {
	t.Helper()
	object, err := object.Parse([]byte(text), object.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// written returns a cycle that has handled an object, and patched it with an annotation.
func written(t *testing.T, hs ...*handlers.Handler) *cycle {
	t.Helper()
	registry := &handlers.Registry{}
	pods := &resources.Resource{Version: "v1", Plural: "pods"}
	for _, h := range append(hs, &handlers.Handler{ID: "fn", Family: handlers.Create}) {
		h.Selector = resources.Selector{Core: true, Version: "v1", Name: "pods"}
		registry.Add(h)
	}
	c := &cycle{
		deps: &deps{settings: &Settings{}}, served: newServedResource(registry, pods, false), batch: &queue.Batch{Events: make([]watch.Event, 1)},
		memory: &memory{}, event: watch.Added, ownPatch: patch.NewPatch(), logger: slog.New(slog.DiscardHandler),
		object:  version(t, `{"metadata":{"resourceVersion":"1"},"spec":{"f":1}}`),
		patched: version(t, `{"metadata":{"annotations":{"mark":"x"},"resourceVersion":"2"},"spec":{"f":1},"status":{"fn":"done"}}`),
	}
	c.ownPatch.Set(annotation("mark"), "x")
	return c
}

func TestEcho_RecognizedOnce(t *testing.T) {
	c := written(t)
	c.expectEcho(nil)
	if c.event, c.object = watch.Modified, c.patched; !c.skipsEcho() {
		t.Error("it is not known again")
	}
	if c.skipsEcho() {
		t.Error("it is known for ever")
	}
}

func TestEcho_EarlierEventsAreDropped(t *testing.T) {
	now := time.Now()
	event := func(kind, version string, change func(*memory, *queue.Batch)) (*memory, *queue.Batch) {
		m := &memory{echoVersion: "5", ownVersion: "5", ownDeadline: now.Add(time.Second)}
		newest := watch.Event{Type: kind, Object: object.Stub("v1", "Pod", "default", "a", "u", version)}
		b := &queue.Batch{Newest: newest, Events: []watch.Event{newest}}
		if change != nil {
			change(m, b)
		}
		return m, b
	}
	m, b := event(watch.Modified, "4", nil)
	if !m.precedesEcho(b, now) || m.echoVersion != "5" {
		t.Errorf("the event of the first patch is not dropped, or its echo is not expected anymore: %q", m.echoVersion)
	}
	for name, change := range map[string]func(*memory, *queue.Batch){
		"no echo is expected":         func(m *memory, _ *queue.Batch) { m.echoVersion = "" },
		"it is not waited for":        func(m *memory, _ *queue.Batch) { m.ownVersion = "" },
		"the time to wait is over":    func(m *memory, _ *queue.Batch) { m.ownDeadline = now },
		"a retry was asked for":       func(m *memory, _ *queue.Batch) { m.retryNow(newRetryRequest("")) },
		"the object was listed":       func(_ *memory, b *queue.Batch) { b.Listed = true },
		"the object is handled again": func(_ *memory, b *queue.Batch) { b.Events = nil },
	} {
		if m, b := event(watch.Modified, "4", change); m.precedesEcho(b, now) {
			t.Errorf("the event is dropped although %s", name)
		}
	}
	for kind, version := range map[string]string{watch.Modified: "5", watch.Deleted: "4", watch.Added: "4"} {
		if m, b := event(kind, version, nil); m.precedesEcho(b, now) {
			t.Errorf("version %s (%s) is dropped", version, kind)
		}
	}
	if m, b := event(watch.Modified, "6", nil); m.precedesEcho(b, now) {
		t.Error("a newer version is dropped")
	}
}

func TestEcho_OtherEventsAreNoEchoes(t *testing.T) {
	for name, change := range map[string]func(*cycle){
		"another version": func(c *cycle) {
			c.object = version(t, `{"metadata":{"annotations":{"mark":"x"},"resourceVersion":"3"},"spec":{"f":1}}`)
		},
		"a deletion":             func(c *cycle) { c.event = watch.Deleted },
		"a listing":              func(c *cycle) { c.event = watch.Listed },
		"a request to retry now": func(c *cycle) { c.batch.Events = nil },
		"no version":             func(c *cycle) { c.object, c.memory.echoVersion = version(t, `{"metadata":{}}`), "" },
	} {
		c := written(t)
		c.expectEcho(nil)
		c.event, c.object = watch.Modified, c.patched
		change(c)
		if c.skipsEcho() {
			t.Errorf("%s is taken for an echo", name)
		}
	}
}

func TestEcho_NotExpectedWhereTheEventMatters(t *testing.T) {
	always := func(context.Context, *handlers.Cause) bool { return true }
	one := handlers.EqualStringCriterion("1")
	for name, c := range map[string]*cycle{
		"a filter by a function":    written(t, &handlers.Handler{ID: "x", Family: handlers.Delete, When: always}),
		"a filter by annotations":   written(t, &handlers.Handler{ID: "x", Family: handlers.Delete, Annotations: map[string]handlers.Criterion{"a": one}}),
		"a field of the status":     written(t, &handlers.Handler{ID: "x", Family: handlers.Field, Field: object.Path{"status", "fn"}}),
		"another client's change":   with(written(t), func(c *cycle) { c.object = version(t, `{"metadata":{},"spec":{"f":2}}`) }),
		"a change by a handler":     with(written(t), func(c *cycle) { c.ownPatch = patch.NewPatch() }),
		"nothing written":           with(written(t), func(c *cycle) { c.patched = nil }),
		"unwritten annotations":     with(written(t), func(c *cycle) { c.memory.annotations.keep("a", "b") }),
		"transformations to repeat": with(written(t), func(c *cycle) { c.memory.unrecorded = new(unrecorded) }),
		"watch-event handlers":      written(t, &handlers.Handler{ID: "x", Family: handlers.Event}),
		"a storage of the user's":   with(written(t), func(c *cycle) { c.deps.settings.DiffBase = boundStorage{} }),
		"a deleted object":          with(written(t), func(c *cycle) { c.event = watch.Deleted }),
	} {
		if c.expectEcho(nil); c.memory.echoVersion != "" {
			t.Errorf("%s is not looked at", name)
		}
	}
	c := written(t)
	if c.expectEcho(&queue.Next{After: time.Second}); c.memory.echoVersion != "" {
		t.Error("something to do later is not looked at")
	}
}

func with(c *cycle, change func(*cycle)) *cycle {
	change(c)
	return c
}

// boundStorage is a storage that is bound to each cycle.
type boundStorage struct{ state.DiffBaseStorage }

func (s boundStorage) BindDiffBase(context.Context, *object.Object) state.DiffBaseStorage { return s }
