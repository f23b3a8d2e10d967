package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// limitedCalls counts the calls that run at the same time. All of them wait until they are released.
type limitedCalls struct {
	release chan struct{}

	mu            sync.Mutex
	running, most int
	calls         map[string]int
}

func (l *limitedCalls) call(ctx context.Context, name string) error {
	l.mu.Lock()
	l.running++
	l.most = max(l.most, l.running)
	l.calls[name]++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.running--
		l.mu.Unlock()
	}()
	select {
	case <-l.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *limitedCalls) of(name string) (calls, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[name], l.most
}

// waitSlots waits until so many handlers run, and so many wait for slots.
func waitSlots(op *kopftest.Operator, running, waiting int) *inspect.Snapshot {
	op.T().Helper()
	return op.WaitInspect(fmt.Sprintf("%d run, and %d wait", running, waiting), func(s *inspect.Snapshot) bool {
		r, w := 0, 0
		for _, o := range s.Objects {
			for _, h := range o.Handlers {
				switch {
				case h.Slot:
					w++
				case h.State == inspect.PhaseRunning:
					r++
				}
			}
		}
		return r == running && w == waiting
	})
}

func TestLimit_HoldsBackNothingButItsHandlers(t *testing.T) {
	const objects = 100
	cluster := newCluster(t)
	l := &limitedCalls{release: make(chan struct{}), calls: map[string]int{}}
	free := make(chan string, 10)
	op := cluster.Run(func(r *kopf.Registry) {
		limit := kopf.Limit(2)
		limited := kopf.Labels{"free": kopf.Absent}
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if err := l.call(ctx, "create "+c.Name); err != nil || c.Retry > 0 {
				return err
			}
			field, _ := c.Object.Get("spec.field").(string)
			return kopf.Temporaryf(time.Millisecond, "once more, with %s", field)
		}, kopf.ID("create"), limit, limited)
		kopf.OnDelete(r, kexes, func(ctx context.Context, c *change) error { return l.call(ctx, "delete "+c.Name) }, kopf.ID("delete"), limit, limited)
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			free <- c.Name
			return nil
		}, kopf.ID("free"), kopf.Labels{"free": kopf.Present})
	})
	all := make([]*kopftest.Object, objects)
	for i := range all {
		all[i] = cluster.Create(example(fmt.Sprintf("x%03d", i)))
	}
	snapshot := waitSlots(op, 2, objects-2)

	// Nothing is recorded on the objects that wait, and other handlers are called.
	var parked []*kopftest.Object
	for _, o := range snapshot.Objects {
		if h := o.Handler("create"); h != nil && h.Slot {
			parked = append(parked, cluster.Object(kex.name(), o.Name))
		}
	}
	annotations, _ := parked[0].Get().Get("metadata.annotations").(tree)
	if len(annotations) != 1 {
		t.Errorf("the object that waits has the annotations %v", annotations)
	}
	other := example("other")
	other["metadata"].(tree)["labels"] = tree{"free": "yes"}
	waitHandled(cluster.Create(other))
	receive(cluster, "the call of the other handler", free)

	// Objects change and are deleted while they wait, and the operator restarts.
	parked[0].Set("spec.field", "changed")
	parked[1].Delete()
	op.Restart()
	waitSlots(op, 2, objects-2)
	close(l.release)
	op.Pause()
	op.Resume()
	op.WaitLog("once more, with changed")
	for _, o := range all {
		if o.Name != parked[1].Name {
			waitHandled(o)
		}
	}
	parked[1].WaitGone()
	if calls, most := l.of("create " + parked[1].Name); calls > 0 || most > 2 {
		t.Errorf("%d calls for the object that was deleted while it waited; at most %d calls at the same time", calls, most)
	}
	if calls, _ := l.of("delete " + parked[1].Name); calls == 0 {
		t.Error("its deletion was not handled")
	}
	waitSlots(op, 0, 0)
}

func TestLimit_LostLeaseGivesTheSlotToOtherObjects(t *testing.T) {
	cluster := newCluster(t)
	l := &limitedCalls{release: make(chan struct{}), calls: map[string]int{}}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error { return l.call(ctx, c.Name) }, kopf.ID("create"), kopf.Limit(1))
	}, sharded(cluster, "only", false))
	owns(op, manyShards)
	var all []*kopftest.Object
	for i := range 10 {
		all = append(all, cluster.Create(example(fmt.Sprint("x", i))))
	}
	running := func(s *inspect.Snapshot) string {
		for _, o := range s.Objects {
			if h := o.Handler("create"); h != nil && h.State == inspect.PhaseRunning && !h.Slot {
				return o.Name
			}
		}
		return ""
	}
	first := running(waitSlots(op, 1, len(all)-1))
	shard := func(name string) int {
		return shards.Division{Shards: manyShards, Key: shards.ByUID}.Of(&object.Object{UID: uidNow(cluster.Object(kex.name(), name))})
	}
	lost := shard(first)
	cluster.Object("leases.coordination.k8s.io", fmt.Sprint("replicas-", lost)).Patch(tree{"spec": tree{"holderIdentity": "another"}})
	op.WaitInspect("an object of another shard has the slot", func(s *inspect.Snapshot) bool {
		next := running(s)
		return next != "" && shard(next) != lost
	})
	close(l.release)
	for _, o := range all { // those of the lost shard once its lease has expired
		waitHandled(o)
	}
	if calls, most := l.of(first); calls != 2 || most > 1 {
		t.Errorf("%d calls for the object whose lease was lost, want 2; at most %d calls at the same time", calls, most)
	}
	waitSlots(op, 0, 0)
}

func TestLimit_AppliesToTimersAndPasses(t *testing.T) {
	cluster := newCluster(t)
	l := &limitedCalls{release: make(chan struct{}), calls: map[string]int{}}
	op := cluster.Run(func(r *kopf.Registry) {
		limit := kopf.Limit(2)
		kopf.Timer(r, kexes, func(ctx context.Context, c *tick) error { return l.call(ctx, "timer "+c.Name) },
			kopf.ID("timer"), kopf.Interval(time.Hour), limit)
		kopf.OnReconcile(r, kexes, func(ctx context.Context, p *kopf.Pass[kopf.Object]) error { return l.call(ctx, "pass "+p.Name) },
			kopf.ID("pass"), limit)
	})
	const objects = 10
	for i := range objects {
		cluster.Create(example(fmt.Sprint("x", i)))
	}
	op.WaitInspect("all others wait", func(s *inspect.Snapshot) bool {
		waiting := 0
		for _, o := range s.Objects {
			for _, h := range o.Handlers {
				if h.Slot {
					waiting++
				}
			}
		}
		return waiting == 2*objects-2
	})
	close(l.release)
	cluster.WaitUntil("all are called", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.calls) == 2*objects && l.running == 0
	})
	if _, most := l.of(""); most != 2 {
		t.Errorf("at most %d calls at the same time", most)
	}
}
