package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestPause_ShortOnesMissNothing(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
			c.Patch.Set("status.seen", c.Body.Get("spec.field"))
			return nil
		}, kopf.ID("update"))
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"))
	})
	x := cluster.Create(example("x"))
	r.wait(cluster, "d x", 1, 1)
	for n := range 30 {
		value := fmt.Sprint(n)
		var both sync.WaitGroup
		both.Go(func() {
			for range 5 {
				op.Pause()
				op.Resume()
			}
		})
		x.Patch(field(value))
		both.Wait()
		x.WaitFor("it is handled", func(o *kopf.Object) bool { return o.Get("status.seen") == value })
		r.wait(cluster, "d x", 1, 1)
	}
	r.neverTwice(t)
	op.Stop()
}

func TestPause_VanishedObjectIsForgotten(t *testing.T) {
	cluster, r, b := newCluster(t), newRunCounts(), &byField{}
	release := make(chan struct{})
	reasons := make(chan kopf.StopReason, 1)
	op := cluster.Run(func(reg *kopf.Registry) {
		b.register(reg, kexes)
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("slow " + d.Name)()
			<-d.Stopping()
			if d.Name == "gone" {
				<-release
				reasons <- d.StopReason()
			}
			return nil
		}, kopf.ID("slow"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			kopf.MemoOf[runCounts](c.Memo)
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Hour))
	})
	for _, name := range []string{"gone", "there"} {
		cluster.Create(withField(name, "x"))
		r.wait(cluster, "d "+name, 1, 1)
		r.wait(cluster, "slow "+name, 1, 1)
		r.wait(cluster, "t "+name, 0, 1)
		waitHeld(cluster.Object(kex.name(), name))
	}
	b.waitContent(cluster, "x: gone there")

	op.Pause()
	r.wait(cluster, "d gone", 0, 1)
	cluster.Object(kex.name(), "gone").Delete()
	cluster.Object(kex.name(), "gone").Patch(tree{"metadata": tree{"finalizers": nil}})
	cluster.Object(kex.name(), "gone").WaitGone()
	op.Resume()

	b.waitContent(cluster, "x: there")
	remembers(op, 1)
	r.wait(cluster, "d there", 1, 2)
	// The daemon that is still stopping learns of the deletion, and does not bring the object back.
	close(release)
	if reason := <-reasons; reason != kopf.StopOperatorPausing|kopf.StopResourceDeleted {
		t.Errorf("it is told: %v", reason)
	}
	r.wait(cluster, "slow gone", 0, 1)
	phases(op, "there", inspect.StateSettled, "by-field=done", "d=alive", "slow=alive", "t=ticking")
	remembers(op, 1)
	if n := r.count(r.all, "d gone") + r.count(r.all, "t gone"); n != 2 {
		t.Errorf("it is called for an object that is gone: %v", r.all)
	}
	r.neverTwice(t)
	op.Stop()
}

func TestPause_VanishedResourceIsForgotten(t *testing.T) {
	cluster, r, b := newCluster(t), newRunCounts(), &byField{}
	own := ownResource(cluster)
	op := cluster.Run(func(reg *kopf.Registry) {
		resource := own.selector()
		b.register(reg, resource)
		b.register(reg, kexes)
		kopf.Daemon(reg, resource, r.daemon("d", 0), kopf.ID("d"))
		kopf.Daemon(reg, kexes, r.daemon("e", 0), kopf.ID("e"))
	})
	x := cluster.Create(own.of(withField("x", "gone")))
	r.wait(cluster, "d x", 1, 1)
	cluster.Create(withField("y", "there"))
	r.wait(cluster, "e y", 1, 1)
	b.waitContent(cluster, "gone: x; there: y")
	remembers(op, 2)

	op.Pause()
	r.wait(cluster, "d x", 0, 1)
	waitHeld(x)
	x.Delete()
	x.Patch(tree{"metadata": tree{"finalizers": nil}})
	x.WaitGone()
	own.undefine(cluster)
	op.Resume()
	r.wait(cluster, "e y", 1, 2)
	remembers(op, 1)
	b.waitContent(cluster, "there: y")
}
