package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestIndex_ReadInFilters(t *testing.T) {
	cluster := newCluster(t)
	var b byField
	var c calls
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		isChosen := kopf.When(func(ctx context.Context, r *kopf.Request) bool {
			return slices.Contains(b.index.Get(ctx, "chosen"), r.Name)
		})
		isIndexed := kopf.Value(kopf.Where(func(ctx context.Context, field string) bool {
			return field == "chosen" && b.index.Get(ctx, field) != nil
		}))
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create " + r.Name)
			r.Sub("part", func(_ context.Context, r *change) error { c.add("part " + r.Name); return nil }, isChosen)
			return nil
		}, kopf.ID("create"), isChosen)
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error { c.add("value " + r.Name); return nil }, kopf.ID("value"),
			kopf.Field("spec.field"), isIndexed)
		kopf.OnEvent(r, kexes, func(_ context.Context, r *event) error { c.add("event " + r.Name); return nil }, kopf.ID("event"), isChosen)
		kopf.Daemon(r, kexes, func(_ context.Context, r *run) error { c.add("daemon " + r.Name); return nil }, kopf.ID("daemon"), isChosen)
		kopf.Timer(r, kexes, func(_ context.Context, r *tick) error { c.add("timer " + r.Name); return nil }, kopf.ID("timer"),
			kopf.Interval(time.Hour), isChosen)
		kopf.NewIndex(r, kexes, func(context.Context, *indexed) (map[string]int, error) { return nil, nil }, kopf.ID("filtered"),
			kopf.When(func(ctx context.Context, _ *kopf.Request) bool { return b.index.Len(ctx) >= 0 }))
	})
	chosen := cluster.Create(withField("a", "chosen"))
	cluster.Create(withField("b", "other"))
	op.WaitHandled(chosen)
	for _, want := range []string{"create a", "part a", "value a", "event a", "daemon a", "timer a"} {
		c.wait(cluster, want, 1)
	}
	op.WaitInspect("the filter keeps the other object out", func(s *inspect.Snapshot) bool {
		return slices.ContainsFunc(s.Objects, func(o *inspect.Object) bool {
			h := o.Handler("create")
			return o.Name == "b" && h != nil && h.Why != nil && h.Why.Kind == inspect.MismatchWhen
		})
	})
	for _, call := range c.all() {
		if call[len(call)-1] != 'a' {
			t.Errorf("called for the other object: %s", call)
		}
	}
}
