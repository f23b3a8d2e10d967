package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// signed returns a child with the replica that applies it.
func signed(name, replica string, n any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}, "data": tree{"by": replica, "n": fmt.Sprint(n)},
	}}
}

func TestChildren_ShardLostInMidPassWritesNothing(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	ended, proceed, refused := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var lost atomic.Bool
	k.reconcile(owning("v1 configmaps"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
		if err := p.Apply(ctx, signed("first", "only", 0)); err != nil {
			return err
		}
		if !lost.CompareAndSwap(false, true) {
			return p.Apply(ctx, signed("second", "only", 0))
		}
		<-ctx.Done()
		close(ended)
		<-proceed
		err := p.Apply(context.WithoutCancel(ctx), signed("second", "only", 0))
		refused <- err
		return err
	}, sharded(k.Cluster, "only", false))
	owns(k.Operator, manyShards)
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}}))
	first, second := k.Object("configmaps", "first"), k.Object("configmaps", "second")
	first.WaitValue("data.by", "only")
	before := first.Get()
	shard := shards.Division{Shards: manyShards, Key: shards.ByUID}.Of(&object.Object{UID: uidNow(k.parent)})
	k.Object("leases.coordination.k8s.io", fmt.Sprint("replicas-", shard)).Patch(tree{"spec": tree{"holderIdentity": "another"}})
	receive(k.Cluster, "the context of the handler has ended", ended)
	close(proceed)
	if err := receive(k.Cluster, "the second child is refused", refused); err == nil || second.Exists() {
		t.Errorf("a replica without the lease has applied a child: %v", err)
	}
	owns(k.Operator, manyShards) // once that lease has expired
	second.WaitValue("data.by", "only")
	same(t, first, before)
	k.settle(k.parent)
	k.checkIdle()
}

// signatures are the versions of children by their names.
type signatures struct {
	mu   sync.Mutex
	seen map[string][]shardCall
}

func followSignatures(t *testing.T, cluster *kopftest.Cluster) *signatures {
	t.Helper()
	s := &signatures{seen: map[string][]shardCall{}}
	followEvents(t, cluster, configMaps, func(deleted bool, o tree) {
		data, _ := o["data"].(tree)
		if data["by"] == nil {
			return
		}
		name := fmt.Sprint(o["metadata"].(tree)["name"])
		if deleted {
			t.Errorf("%s was deleted", name)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[name] = append(s.seen[name], shardCall{replica: fmt.Sprint(data["by"]), n: number(data["n"])})
	})
	return s
}

// check fails the test if a child has a version of a replica after a version of the replica that took its shard over, or an older
// state after a newer one.
func (s *signatures) check(t *testing.T, child string, shard int, held *tenures) {
	t.Helper()
	held.mu.Lock()
	defer held.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	history, tenure := held.byShard[fmt.Sprint(shard)], 0
	for i, version := range s.seen[child] {
		for tenure < len(history) && history[tenure].holder != version.replica {
			tenure++
		}
		if tenure == len(history) || i > 0 && version.n < s.seen[child][i-1].n {
			t.Errorf("%s has the versions %+v, but its shard was held by %+v", child, s.seen[child], history)
			return
		}
	}
}

// Three replicas share the parents one after the other: the first one leaves, and the second one is killed. The parents are changed all
// the time, and each pass takes so long that most hand-overs happen in the middle of passes.
func TestChildren_HandedOverInMidPassHaveOneWriter(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	division := shards.Division{Shards: manyShards, Key: shards.ByUID}
	held, history, noted := followTenures(t, cluster), followSignatures(t, cluster), &shardCalls{}
	const parents = 12
	replica := func(name string) *keeper {
		k := &keeper{t: t, Cluster: cluster, own: own}
		k.reconcile(owning("v1 configmaps"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			one := shardCall{replica: name, uid: string(p.UID), n: number(p.Object.Get("spec.n")), start: time.Now()}
			for _, child := range []string{"-a", "-b", "-c"} {
				if err := p.Apply(ctx, signed(p.Name+child, name, one.n)); err != nil {
					return err
				}
				select {
				case <-time.After(50 * time.Millisecond): // the time that the handler takes
				case <-ctx.Done():
				}
			}
			one.end = time.Now()
			if ctx.Err() == nil {
				noted.add(one)
			}
			return ctx.Err()
		}, sharded(cluster, name, false))
		return k
	}
	var all []*kopftest.Object
	for i := range parents {
		all = append(all, cluster.Create(own.of(tree{"metadata": tree{"name": fmt.Sprint("p", i)}, "spec": tree{"n": 0}})))
	}
	n := 0
	change := func() {
		n++
		all[n%parents].Set("spec.n", n)
	}
	busyUntil := func(what string, done func() bool) {
		t.Helper()
		for start := time.Now(); !done(); change() {
			if time.Since(start) > time.Minute {
				t.Fatal("waited in vain until " + what)
			}
		}
	}
	holds := func(op *kopftest.Operator, n int) func() bool {
		return func() bool {
			own := op.Inspect().Operator.Shards
			return own != nil && len(own.Own) == n
		}
	}
	first := replica("first")
	busyUntil("the first replica holds all shards", holds(first.Operator, manyShards))
	second := replica("second")
	busyUntil("the second replica holds its half", holds(second.Operator, manyShards/2))
	first.Stop()
	busyUntil("the second replica holds all shards", holds(second.Operator, manyShards))
	third := replica("third")
	busyUntil("the third replica holds its half", holds(third.Operator, manyShards/2))
	noted.kill("second")
	second.Kill()
	busyUntil("the third replica holds all shards", holds(third.Operator, manyShards))

	for _, p := range all {
		n++
		p.Set("spec.n", n)
	}
	for i, p := range all {
		for _, child := range []string{"-a", "-b", "-c"} {
			cluster.Object("configmaps", p.Name+child).WaitFor("the third replica has applied it", func(o *kopf.Object) bool {
				return o.Get("data.by") == "third" && o.Get("data.n") == fmt.Sprint(n-parents+1+i)
			})
			history.check(t, p.Name+child, division.Of(&object.Object{UID: uidNow(p)}), held)
		}
	}
	held.check(t, division, noted.snapshot())
	replicas := map[string]bool{}
	for _, one := range noted.snapshot() {
		replicas[one.replica] = true
	}
	t.Logf("%d changes, %d passes, %d tenures", n, len(noted.snapshot()), held.count())
	if len(replicas) != 3 {
		t.Errorf("passes of %v alone", replicas)
	}
	third.parent = all[0]
	third.checkIdle()
}

// The operator stops while a pass is running, after a change handler of the same cycle has succeeded.
func TestChildren_OutcomesBeforeAnInterruptedPassAreWritten(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	var calls, passes atomic.Int32
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), func(context.Context, *change) error {
			calls.Add(1)
			return nil
		}, kopf.ID("create"))
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			if passes.Add(1) == 1 {
				p.Logger.Info("the pass waits")
				<-ctx.Done()
			}
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap"}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	op.WaitLog("the pass waits")
	op.Restart()
	cluster.Object("configmaps", "x").WaitValue("metadata.name", "x")
	op.WaitHandled(parent)
	if n := calls.Load(); n != 1 || passes.Load() < 2 {
		t.Errorf("the creation handler was called %d times, in %d passes", n, passes.Load())
	}
}
