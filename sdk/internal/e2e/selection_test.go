package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// gold selects objects by their labels.
func gold(o *kopf.Operator) { o.Settings.Scaling.LabelSelector = "tier=gold" }

// happened notes texts in their order. It is safe for concurrent use.
type happened struct {
	mu    sync.Mutex
	texts []string
}

func (h *happened) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func (h *happened) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

func withLabels(o tree, labels tree) tree {
	all := o["metadata"].(tree)["labels"].(tree)
	maps.Copy(all, labels)
	return o
}

func TestSelection_OnlyMatchingObjectsAreHandled(t *testing.T) {
	cluster, seen := newCluster(t), &happened{}
	cluster.Create(example("before"))
	cluster.Create(withLabels(example("gold-before"), tree{"tier": "gold"}))
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(_ context.Context, e *event) error {
			seen.add(e.Name)
			return nil
		}, kopf.ID("e"))
	}, gold)
	cluster.Create(example("after"))
	cluster.Create(withLabels(example("gold-after"), tree{"tier": "gold"}))
	cluster.WaitUntil("the selected objects are seen", func() bool {
		all := seen.all()
		return slices.Contains(all, "gold-before") && slices.Contains(all, "gold-after")
	})
	remembers(op, 2)
	if all := seen.all(); slices.Contains(all, "before") || slices.Contains(all, "after") {
		t.Errorf("others are seen too: %v", all)
	}
}

func TestSelection_LeavingIsNoDeletion(t *testing.T) {
	cluster, r, b, seen := newCluster(t), newRunCounts(), &byField{}, &happened{}
	reasons := make(chan kopf.StopReason, 10)
	op := cluster.Run(func(reg *kopf.Registry) {
		b.register(reg, kexes)
		kopf.OnEvent(reg, kexes, func(_ context.Context, e *event) error {
			seen.add("event " + string(e.Type))
			return nil
		}, kopf.ID("e"))
		kopf.OnCreate(reg, kexes, func(context.Context, *change) error { seen.add("create"); return nil }, kopf.ID("c"))
		kopf.OnDelete(reg, kexes, func(context.Context, *change) error { seen.add("delete"); return nil }, kopf.ID("d"))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("daemon")()
			<-d.Stopping()
			reasons <- d.StopReason()
			return nil
		}, kopf.ID("daemon"))
	}, gold)
	x := cluster.Create(withLabels(withField("x", "v"), tree{"tier": "gold"}))
	r.wait(cluster, "daemon", 1, 1)
	b.waitContent(cluster, "v: x")
	op.WaitHandled(x)

	x.Label("tier", "silver")
	if reason := <-reasons; reason != kopf.StopFiltersMismatch {
		t.Errorf("the daemon is told: %v", reason)
	}
	b.waitContent(cluster, "")
	remembers(op, 0)
	if !x.Exists() {
		t.Error("the object is gone")
	}

	x.Label("tier", "gold")
	r.wait(cluster, "daemon", 1, 2)
	b.waitContent(cluster, "v: x")
	remembers(op, 1)
	for _, text := range seen.all() {
		if text == "delete" || text == "event DELETED" {
			t.Errorf("leaving the selection is a deletion: %v", seen.all())
		}
	}

	x.Delete()
	x.WaitGone()
	cluster.WaitUntil("the deletion is seen", func() bool {
		return slices.Contains(seen.all(), "delete") && slices.Contains(seen.all(), "event DELETED")
	})
	if reason := <-reasons; !reason.Has(kopf.StopResourceDeleted) {
		t.Errorf("the daemon is told: %v", reason)
	}
	r.neverTwice(t)
}

func TestSelection_OnlyIndexedResourceIsNotNarrowed(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	cluster.Run(func(reg *kopf.Registry) {
		b.register(reg, plains)
		kopf.OnCreate(reg, kexes, func(context.Context, *change) error { return nil }, kopf.ID("c"))
	}, gold, func(o *kopf.Operator) { o.Settings.Process.Inspector = "" })
	cluster.Create(plain.of(withField("x", "v")))
	b.waitContent(cluster, "v: x")
}

func TestSelection_MalformedSelectorIsRefused(t *testing.T) {
	cluster := newCluster(t)
	err := cluster.RunError(func(*kopf.Registry) {}, func(o *kopf.Operator) { o.Settings.Scaling.LabelSelector = "a in in" })
	if err == nil || !strings.Contains(err.Error(), `check Settings.Scaling: the label selector "a in in"`) {
		t.Error(err)
	}
}

func TestIgnoredMetadata_ChangesAreNoUpdates(t *testing.T) {
	cluster, seen := newCluster(t), &happened{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(_ context.Context, c *change) error {
			seen.add("update")
			return nil
		}, kopf.ID("u"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("c"))
	}, func(o *kopf.Operator) {
		o.Settings.Persistence.IgnoredMetadata = []string{"sharding.fluxcd.io/key", "shard.alpha.sharding.timebertt.dev/"}
	})
	x := cluster.Create(withLabels(example("x"), tree{"sharding.fluxcd.io/key": "one"}))
	op.WaitHandled(x)
	x.Label("sharding.fluxcd.io/key", "two")
	x.Annotate("shard.alpha.sharding.timebertt.dev/ring", "three")
	x.Label("own", "changed")
	cluster.WaitUntil("the update is handled", func() bool { return len(seen.all()) > 0 })
	op.WaitHandled(x)
	if all := seen.all(); len(all) != 1 {
		t.Errorf("%d updates", len(all))
	}
}
