package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestIndex_ReadFromEveryHandlerAndActivity(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	cluster.Create(plain.of(withField("indexed", "x")))
	resumed := cluster.Create(example("resumed"))
	sees := func(ctx context.Context, who string) error {
		c.add(fmt.Sprint(who, " ", b.index.Get(ctx, "x")))
		return nil
	}
	activity := func(who string) func(context.Context, *kopf.Activity) error {
		return func(ctx context.Context, _ *kopf.Activity) error { return sees(ctx, who) }
	}
	handler := func(who string) func(context.Context, *change) error {
		return func(ctx context.Context, _ *change) error { return sees(ctx, who) }
	}
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnLogin(r, func(ctx context.Context, _ *kopf.Activity) (*kopf.ConnectionInfo, error) {
			return &kopf.ConnectionInfo{Config: testcluster.Config(t)}, sees(ctx, "login")
		}, kopf.ID("login"))
		kopf.OnStartup(r, activity("startup"), kopf.ID("startup"))
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
			return nil
		}, kopf.ID("settings"))
		kopf.OnProbe(r, func(ctx context.Context, _ *kopf.Activity) (any, error) { return nil, sees(ctx, "probe") }, kopf.ID("probe"))
		kopf.OnCleanup(r, activity("cleanup"), kopf.ID("cleanup"))
		kopf.OnResume(r, kexes, handler("resume"), kopf.ID("resume"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			r.Sub("part", handler("sub-handler"))
			return sees(ctx, "create")
		}, kopf.ID("create"))
		kopf.OnUpdate(r, kexes, handler("update"), kopf.ID("update"))
		kopf.OnDelete(r, kexes, handler("delete"), kopf.ID("delete"))
		kopf.OnField(r, kexes, "spec.field", func(ctx context.Context, _ *kopf.FieldChange[string]) error {
			return sees(ctx, "field")
		}, kopf.ID("field"))
		kopf.OnEvent(r, kexes, func(ctx context.Context, _ *event) error { return sees(ctx, "event") }, kopf.ID("event"))
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *run) error { return sees(ctx, "daemon") }, kopf.ID("daemon"))
		kopf.Timer(r, kexes, func(ctx context.Context, _ *tick) error { return sees(ctx, "timer") }, kopf.ID("timer"), kopf.Interval(time.Hour))
		kopf.NewIndex(r, kexes, func(ctx context.Context, _ *indexed) (map[string]int, error) {
			_ = b.index.Get(ctx, "x") // the index's content is undefined here
			c.add("index")
			return nil, nil
		}, kopf.ID("reader"))
	}, withoutConfig, withoutInspector)
	waitHandled(resumed)
	resumed.Patch(field("y"))
	waitHandled(resumed)
	get(t, served(t, op, "/healthz"))
	resumed.Delete()
	resumed.WaitGone()
	op.Stop()
	for _, who := range []string{
		"probe", "cleanup", "create", "sub-handler", "update", "delete", "field", "event", "daemon", "timer",
	} {
		if c.count(who+" [indexed]") == 0 {
			t.Errorf("%s sees no index; called: %q", who, c.all())
		}
	}
	for _, who := range []string{"login []", "startup []", "index"} {
		if c.count(who) == 0 {
			t.Errorf("%s is not called; called: %q", who, c.all())
		}
	}
}

func TestIndex_KeepsWholeObjects(t *testing.T) {
	cluster := newCluster(t)
	a := cluster.Create(withField("a", "0"))
	type shared struct {
		mu  sync.Mutex
		ctx context.Context
	}
	var s shared
	var whole *kopf.Index[string, *kopf.Object]
	op := cluster.Run(func(r *kopf.Registry) {
		whole = kopf.NewIndex(r, kexes, func(ctx context.Context, p *indexed) (map[string]*kopf.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ctx = ctx
			return map[string]*kopf.Object{p.Name: p.Body}, nil
		}, kopf.ID("whole"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			c.Patch.Set("status.field", whole.Get(ctx, c.Name)[0].Get("spec.field"))
			return nil
		}, kopf.ID("create"))
	}, withoutInspector)
	a.WaitFor("it is handled with what is in the index", func(o *kopf.Object) bool { return kopf.GetOr(o, "status.field", "") == "0" })
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	first := whole.Get(ctx, "a")
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var seen []string
			for len(seen) == 0 || seen[len(seen)-1] != "9" {
				now := kopf.GetOr(whole.Get(ctx, "a")[0], "spec.field", "")
				if len(seen) == 0 || seen[len(seen)-1] != now {
					seen = append(seen, now)
				}
				if t.Context().Err() != nil {
					return
				}
			}
			if !slices.IsSorted(seen) {
				t.Errorf("older versions come after newer ones: %v", seen)
			}
		})
	}
	for i := 1; i < 10; i++ {
		a.Patch(field(fmt.Sprint(i)))
	}
	readers.Wait()
	if got := first[0].Get("spec.field"); got != "0" {
		t.Errorf("what was read has changed: %v", got)
	}
	op.Stop()
}

func TestIndex_ReadFromActivities(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	cluster.Create(withField("a", "x"))
	sees := func(what string) func(context.Context, *kopf.Activity) error {
		return func(ctx context.Context, _ *kopf.Activity) error {
			c.add(fmt.Sprintf("%s sees %d", what, b.index.Len(ctx)))
			return nil
		}
	}
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnStartup(r, sees("startup"), kopf.ID("startup"))
		kopf.OnCleanup(r, sees("cleanup"), kopf.ID("cleanup"))
	}, withoutInspector)
	b.waitContent(cluster, "x: a")
	op.Stop()
	c.are(t, "startup sees 0", "cleanup sees 1")
}
