package cycle

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
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
		deps: &core.Deps{Settings: &core.Settings{}}, served: core.NewServedResource(registry, pods, false), batch: &queue.Batch{Events: make([]watch.Event, 1)},
		memory: &memory.Memory{}, writes: outbox.Writes{Own: patch.NewPatch(), Finished: true}, subject: &observe.Subject{Logger: slog.New(slog.DiscardHandler)},
		object: version(t, `{"metadata":{"resourceVersion":"1"},"spec":{"f":1}}`),
		sent:   sent{answer: version(t, `{"metadata":{"annotations":{"mark":"x"},"resourceVersion":"2"},"spec":{"f":1},"status":{"fn":"done"}}`)},
	}
	c.writes.Own.Set(own("mark"), "x")
	return c
}

func TestEndRetry_UninvolvedObjectEndsItsRequestAtOnce(t *testing.T) {
	reconcile := &handlers.Handler{ID: "reconcile", Family: handlers.Reconcile}
	for hold, passes := range map[plan.Hold]bool{plan.HoldNothing: true, plan.HoldUnwritten: false, plan.HoldAdding: false, plan.HoldRemoving: false} {
		request := memory.NewRetryRequest("")
		c := with(written(t), func(c *cycle) { c.plan.Hold = hold; c.memory.RetryNow(request) })
		if c.endRetry(request); c.memory.Retry.Load() != nil {
			t.Errorf("hold %v: the request stays, though no handler matches the object", hold)
		}
		c = with(written(t, reconcile), func(c *cycle) { c.plan.Hold = hold; c.memory.RetryNow(request) })
		if c.endRetry(request); (c.memory.Retry.Load() == nil) != passes {
			t.Errorf("hold %v: the request of an object with a pass ends: %t", hold, !passes)
		}
	}
}

func TestAnswer_HandledWhereTheVersionMatters(t *testing.T) {
	if c := written(t); !c.leavesNothing(c.sent.answer) {
		t.Error("there is something to do for a version that differs only by the operator's records")
	}
	always := func(context.Context, *handlers.Cause) bool { return true }
	one := handlers.EqualStringCriterion("1")
	for name, c := range map[string]*cycle{
		"a filter by a function":    written(t, &handlers.Handler{ID: "x", Family: handlers.Delete, When: always}),
		"a filter by annotations":   written(t, &handlers.Handler{ID: "x", Family: handlers.Delete, Annotations: map[string]handlers.Criterion{"a": one}}),
		"a field of the status":     written(t, &handlers.Handler{ID: "x", Family: handlers.Field, Field: object.Path{"status", "fn"}}),
		"another client's change":   with(written(t), func(c *cycle) { c.object = version(t, `{"metadata":{},"spec":{"f":2}}`) }),
		"a change by a handler":     with(written(t), func(c *cycle) { c.writes.Own = patch.NewPatch() }),
		"a request to retry":        with(written(t), func(c *cycle) { c.memory.RetryNow(memory.NewRetryRequest("")) }),
		"a cause that is not done":  with(written(t), func(c *cycle) { c.writes.Finished = false }),
		"unwritten annotations":     with(written(t), func(c *cycle) { c.memory.Outbox.Parked = map[string]string{"a": "b"} }),
		"transformations to repeat": with(written(t), func(c *cycle) { c.memory.Outbox.Put(outbox.Writes{}) }),
		"watch-event handlers":      written(t, &handlers.Handler{ID: "x", Family: handlers.Event}),
		"a storage of the user's":   with(written(t), func(c *cycle) { c.deps.Settings.DiffBase = boundStorage{} }),
		"a deleted object":          with(written(t), func(c *cycle) { c.batch.Newest.Type = watch.Deleted }),
	} {
		if c.leavesNothing(c.sent.answer) {
			t.Errorf("%s is not looked at", name)
		}
	}
}

func TestAnswer_OutsideOfTheSelectionIsNotHandled(t *testing.T) {
	gold := `{"metadata":{"labels":{"tier":"gold"},"resourceVersion":"2"}}`
	for _, test := range []struct {
		selector, answer string
		want             bool
	}{
		{"", gold, true},
		{"tier=gold", gold, true},
		{"tier=lead", gold, false},
		{"tier", `{"metadata":{"resourceVersion":"2"}}`, false},
		{"!tier", `{"metadata":{"resourceVersion":"2"}}`, true},
	} {
		c := written(t)
		c.deps.Settings.Selection.Labels = test.selector
		answer := version(t, test.answer)
		c.memory.Ledger.Wrote(answer, time.Time{})
		if got := c.handles(answer); got != test.want {
			t.Errorf("%+v: handled is %t", test, got)
		}
		if test.want {
			continue
		}
		for _, failed := range []error{nil, errors.New("the status was refused")} {
			c.memory.Ledger = memory.Ledger{Answer: answer}
			if next := c.followAnswer(t.Context(), &queue.Next{After: time.Hour}, failed, nil); next != nil || c.memory.Ledger.Answer != nil {
				t.Errorf("%+v, error %v: it is handled after all, in %v", test, failed, next)
			}
		}
	}
}

// TestAnswer_SkippedWithUnwrittenConditionsIsUnsettled has a cycle that leaves the conditions to a later cycle, for example to the one after
// a pass. The inspector must not show the object as settled in between.
func TestAnswer_SkippedWithUnwrittenConditionsIsUnsettled(t *testing.T) {
	for _, later := range []bool{true, false} {
		c, ends := written(t), new(endedCycles)
		c.sent.later = later
		c.memory.Ledger.Answer = c.sent.answer
		c.deps.Now, c.deps.Sink = time.Now, new(observe.Sink)
		c.deps.Sink.Subscribe(ends)
		if next := c.followAnswer(t.Context(), nil, nil, nil); next != nil || len(*ends) != 1 {
			t.Fatalf("the cycle has emitted %d ends, want 1; the object is handled next in %v", len(*ends), next)
		}
		if end := (*ends)[0]; !end.Skipped || end.Unwritten != later || end.Subject.Object != c.sent.answer {
			t.Errorf("conditions for later: %t, and the cycle has emitted %+v", later, end)
		}
	}
}

// endedCycles collects the ends of cycles.
type endedCycles []observe.Ended

func (*endedCycles) Kinds() []observe.Kind { return []observe.Kind{observe.KindEnded} }

func (e *endedCycles) Receive(event observe.Event) {
	if end, ok := event.(observe.Ended); ok {
		*e = append(*e, end)
	}
}

func with(c *cycle, change func(*cycle)) *cycle {
	change(c)
	return c
}

// boundStorage is a storage that is bound to each cycle.
type boundStorage struct{ state.DiffBaseStorage }

func (s boundStorage) BindDiffBase(context.Context, *object.Object) state.DiffBaseStorage { return s }
