package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// full returns an object whose annotations leave no room for the operator's annotations.
func full(name string) tree {
	o := example(name)
	annotations := tree{"small": "x"}
	annotations["big"] = strings.Repeat("x", patch.MaxAnnotationsSize-len("smallxbig")-10)
	o["metadata"].(tree)["annotations"] = annotations
	return o
}

func TestAnnotations_FullObjectIsHandledAndDeleted(t *testing.T) {
	cluster := newCluster(t)
	fullObject := cluster.Create(full("full"))
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("create 1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, ch *change) error {
			c.add("create 2")
			if ch.Retry == 0 {
				return kopf.Temporaryf(50*time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("second"))
		kopf.OnUpdate(r, kexes, func(_ context.Context, ch *change) error {
			c.add("update " + ch.Diff.String())
			return nil
		}, kopf.ID("update"))
		kopf.OnDelete(r, kexes, c.does("delete 1"), kopf.ID("bye"))
		kopf.OnDelete(r, kexes, c.does("delete 2"), kopf.ID("farewell"))
	}, logPatches)
	created := []string{"create 1", "create 2", "create 2"}
	cluster.WaitUntil("the object is created", c.is(created...))
	o.WaitLog("Creation is processed: 2 succeeded; 0 failed.")

	fullObject.Patch(field("new"))
	updated := append(created, "update [~spec.field=value→new]")
	cluster.WaitUntil("the object is updated", c.is(updated...))
	o.WaitLog("Updating is processed")

	fullObject.Delete()
	fullObject.WaitGone()
	if got := c.all(); !slices.Equal(got, append(updated, "delete 1", "delete 2")) {
		t.Errorf("got %q", got)
	}
	if n := o.CountLog("Annotations of the object are full"); n != 1 {
		t.Errorf("warned %d times", n)
	}
	if n := o.CountLog("Shorten the biggest annotations: big (262128 bytes), small (6 bytes)"); n != 1 {
		t.Errorf("the biggest annotations are not named:\n%s", o.Log())
	}
	if n := len(patchesOf(o)); n > 2 { // the finalizer
		t.Errorf("got %d requests:\n%v", n, patchesOf(o))
	}
}

func TestAnnotations_StateIsStoredOnceItFits(t *testing.T) {
	cluster := newCluster(t)
	roomy := cluster.Create(full("roomy"))
	var c calls
	o := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.does("create"), kopf.ID("create")) })
	o.WaitLog("Creation is processed")
	roomy.Patch(tree{"metadata": tree{"annotations": tree{"big": nil}}})
	waitHandled(roomy)
	o.Stop()

	again := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.does("create"), kopf.ID("create")) })
	again.Stop()
	if got := c.all(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestAnnotations_StateTooBigIsHandledOnce(t *testing.T) {
	cluster := newCluster(t)
	big := example("big")
	big["spec"].(tree)["blob"] = strings.Repeat("x", patch.MaxAnnotationsSize)
	cluster.Create(big)
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, c.does("2"), kopf.ID("second"))
	})
	o.WaitLog("Creation is processed")
	cluster.Object(kex.name(), "big").Patch(tree{"metadata": tree{"finalizers": []any{"example.com/nothing"}}})
	o.WaitLog("the essence is the same")
	cluster.Object(kex.name(), "big").Patch(tree{"metadata": tree{"finalizers": nil}})
	if got := c.all(); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q", got)
	}
	if n := o.CountLog("none but the operator's own"); n != 0 {
		t.Errorf("the object has annotations of its own:\n%s", o.Log())
	}
}

func TestAnnotations_HandlersOwnAreDroppedIfTheyDoNotFit(t *testing.T) {
	cluster := newCluster(t)
	greedy := cluster.Create(full("greedy"))
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, ch *change) error {
			c.add("create")
			ch.Patch.Set("metadata.annotations.greedy", "too much for the rest")
			ch.Patch.Set("spec.field", "set")
			return nil
		}, kopf.ID("create"))
	})
	greedy.WaitFor("it is patched", func(o *kopf.Object) bool { return kopf.GetOr(o, "spec.field", "") == "set" })
	o.WaitLog("do not fit on the object; discarding them: greedy")
	if got := c.all(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
