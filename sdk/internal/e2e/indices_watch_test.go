package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestIndex_CatchesUpAfterPause(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	a := cluster.Create(withField("a", "x"))
	cluster.Create(withField("b", "x"))
	op := cluster.Run(func(r *kopf.Registry) { b.register(r, kexes) })
	b.waitContent(cluster, "x: a b")
	op.Pause()
	op.WaitLog("Stopping the watch-stream for kopfexamples")
	a.Delete()
	cluster.Create(withField("c", "y"))
	op.Resume()
	b.waitContent(cluster, "x: b; y: c")
}

func TestIndex_NewNamespaceIsIndexedBeforeHandlers(t *testing.T) {
	cluster, b, c, hold := newCluster(t), &byField{}, &calls{}, &barrier{plural: "kopfplains"}
	late := cluster.Namespace + "-late"
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add(fmt.Sprintf("%s sees %d", r.Name, b.index.Len(ctx)))
			return nil
		}, kopf.ID("create"))
	}, serving(cluster.Namespace+"*"), transport(hold.wrap), withoutInspector)
	hold.lock()
	cluster.CreateNamespace(late)
	cluster.Create(in(late, withField("a", "x")))
	op.WaitLog("Starting the watch-stream for kopfplains.v1.kopf.dev in " + late)
	cluster.Create(in(late, plain.of(withField("b", "x"))))
	c.are(t)
	hold.unlock()
	c.wait(cluster, "a sees 1", 1)
	c.are(t, "a sees 1")
}

func TestIndex_RightAfterBrokenWatch(t *testing.T) {
	for reason, words := range map[string]string{"dropped": "", "expired": expired} {
		t.Run(reason, func(t *testing.T) {
			cluster, b, watches, hold := newCluster(t), &byField{}, &breaker{}, &barrier{plural: "kopfexamples"}
			for _, name := range []string{"deleted", "changed", "remade", "unchanged"} {
				cluster.Create(withField(name, "x"))
			}
			op := cluster.Run(func(r *kopf.Registry) { b.register(r, kexes) }, transport(hold.wrap), transport(watches.wrap), withoutInspector)
			b.waitContent(cluster, "x: changed deleted remade unchanged")
			lists := watches.lists.Load()
			hold.lock()
			watches.end(words)
			op.WaitLog("reason=" + reason)
			cluster.Object(kex.name(), "deleted").Delete()
			cluster.Object(kex.name(), "remade").Delete()
			cluster.Create(withField("remade", "y"))
			cluster.Create(withField("new", "y"))
			cluster.Object(kex.name(), "changed").Patch(field("z"))
			hold.unlock()
			b.waitContent(cluster, "x: unchanged; y: new remade; z: changed")
			if words == expired && watches.lists.Load() == lists {
				t.Error("it was not listed again: that is no test")
			}
		})
	}
}

func TestIndex_ResourceComesAndGoes(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	late := kex
	late.group = cluster.Namespace + ".kopf.dev"
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, late.selector())
		kopf.OnCreate(r, plains, func(ctx context.Context, r *change) error {
			b.ctx.Store(&ctx)
			c.add(fmt.Sprintf("%s sees %d", r.Name, b.index.Len(ctx)))
			return nil
		}, kopf.ID("create"))
	}, withoutInspector)
	cluster.Create(plain.of(example("before")))
	c.wait(cluster, "before sees 0", 1) // an index of nothing is complete
	for i, name := range []string{"first", "second"} {
		late.define(cluster)
		cluster.Create(late.of(withField(name, "x")))
		b.waitContent(cluster, "x: "+name)
		late.undefine(cluster)
		op.WaitLogs("Stopping the watch-stream for "+late.key(), i+1)
		b.waitContent(cluster, "")
	}
}

// categorize changes the categories of a resource.
func categorize(cluster *kopftest.Cluster, c custom, categories ...any) {
	cluster.T().Helper()
	definition(cluster, c).Set("spec.names.categories", categories)
}

func TestIndex_RedefinedResource(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	own := ownResource(cluster)
	a, second := cluster.Create(own.of(withField("a", "x"))), cluster.Create(own.of(withField("b", "x")))
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, kopf.Selector{Category: cluster.Namespace})
		kopf.OnResume(r, own.selector(), func(ctx context.Context, r *change) error {
			b.ctx.Store(&ctx)
			c.add("resumed " + r.Name)
			return nil
		}, kopf.ID("resume"))
		kopf.OnEvent(r, own.selector(), func(_ context.Context, e *event) error {
			c.add(fmt.Sprint(e.Type, " ", e.Name))
			return nil
		}, kopf.ID("event"))
	}, withoutInspector)
	waitHandled(a)
	waitHandled(second)
	b.waitContent(cluster, "")
	redefine := func(categories ...any) {
		t.Helper()
		categorize(cluster, own, categories...)
	}
	redefine(cluster.Namespace)
	b.waitContent(cluster, "x: a b")
	a.Patch(field("y"))
	b.waitContent(cluster, "x: b; y: a")
	redefine()
	b.waitContent(cluster, "")
	second.Patch(field("y"))
	c.wait(cluster, "MODIFIED b", 1)
	redefine(cluster.Namespace)
	b.waitContent(cluster, "y: a b")
	if c.count("resumed a") > 1 || c.count("resumed b") > 1 {
		t.Errorf("what has been there all the time is resumed: %q", c.all())
	}
}

func TestIndex_RedefinedResourceGetsFurtherHandlers(t *testing.T) {
	for name, oneMore := range map[string]bool{"one more index": true, "the same index": false} {
		t.Run(name, func(t *testing.T) {
			cluster, b, c, hold := newCluster(t), &byField{}, &calls{}, &barrier{plural: "kopfexamples"}
			own := ownResource(cluster)
			a := cluster.Create(own.of(withField("a", "x")))
			var late *kopf.Index[string, string]
			op := cluster.Run(func(r *kopf.Registry) {
				b.index = kopf.NewIndex(r, own.selector(), func(ctx context.Context, p *indexed) (map[string]string, error) {
					kopf.MemoOf[tally](p.Memo).add(kopf.GetOr(p.Object, "spec.field", ""))
					return b.values(ctx, p)
				}, kopf.ID("by-name"))
				if oneMore {
					late = kopf.NewIndex(r, kopf.Selector{Category: cluster.Namespace}, b.values, kopf.ID("by-category"))
				}
				kopf.OnEvent(r, kopf.Selector{Category: cluster.Namespace}, func(ctx context.Context, e *event) error {
					c.add(fmt.Sprint(e.Name, " ", kopf.MemoOf[tally](e.Memo).add("event")))
					if oneMore && len(late.Get(ctx, kopf.GetOr(e.Object, "spec.field", ""))) != 1 {
						t.Errorf("%s is not in the new index", e.Name)
					}
					return nil
				}, kopf.ID("event"))
			}, transport(hold.wrap), withoutInspector)
			b.waitContent(cluster, "x: a")
			hold.lock()
			categorize(cluster, own, cluster.Namespace)
			op.WaitLogs("Starting the watch-stream for "+own.key(), 2)
			b.waitContent(cluster, "x: a") // already before it is listed again
			a.Patch(field("y"))
			hold.unlock()
			c.wait(cluster, "a [event x y]", 1)
			cluster.Create(own.of(withField("b", "z")))
			c.wait(cluster, "b [event z]", 1)
		})
	}
}

func TestIndex_HandlersWaitForListPermission(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	config := restricted(cluster)
	var maps *kopf.Index[string, bool]
	op := cluster.Launch(func(r *kopf.Registry) {
		maps = kopf.NewIndex(r, kopf.Resource("v1", "configmaps"), func(_ context.Context, p *indexed) (map[string]bool, error) {
			return map[string]bool{p.Name: true}, nil
		}, kopf.ID("maps"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add(fmt.Sprint(r.Name, " ", maps.Get(ctx, "a")))
			return nil
		}, kopf.ID("create"))
	}, connect(config), withoutInspector)
	cluster.Create(example("x"))
	cluster.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	op.WaitLogs("All handlers wait for it, because its objects must be indexed first.", 2)
	c.are(t)
	grant(cluster, "maps", false, rule("", "configmaps", "list", "watch"))
	c.wait(cluster, "x [true]", 1)
	c.are(t, "x [true]")
}

func TestIndex_StuckFunctionDoesNotBlockAfterPause(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	var stuck atomic.Bool
	release := make(chan struct{})
	defer close(release)
	op := cluster.Run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(ctx context.Context, p *indexed) (map[string]string, error) {
			b.ctx.Store(&ctx)
			if p.Name == "b" && !stuck.Swap(true) {
				<-release // whatever becomes of the context
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
		kopf.OnCreate(r, plains, c.does("create"), kopf.ID("create"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ExitTimeout = 10 * time.Millisecond
	}))
	a := cluster.Create(withField("a", "x"))
	b.waitContent(cluster, "x: a")
	cluster.Create(withField("b", "x"))
	cluster.WaitUntil("the function is stuck", stuck.Load)
	op.Pause()
	op.WaitLog("An indexing function ignores that the watch-stream for kopfexamples")
	a.Delete()
	cluster.Create(withField("c", "x"))
	op.Resume()
	b.waitContent(cluster, "x: b c")
	cluster.Create(plain.of(example("x")))
	c.wait(cluster, "create", 1)
}
