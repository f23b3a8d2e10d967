package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const manyShards = 16

// sharded makes an operator one of the replicas in the namespace of the test.
func sharded(cluster *kopftest.Cluster, identity string, byNamespace bool) func(*kopf.Operator) {
	return func(o *kopf.Operator) {
		o.Settings.Scaling = kopf.ScalingSettings{
			Shards: manyShards, ShardByNamespace: byNamespace, LeaseName: "replicas", LeaseNamespace: cluster.Namespace, Identity: identity,
			LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 300 * time.Millisecond,
		}
	}
}

// longLeases makes a replica's leases last longer than any test: other replicas can acquire only shards that it released.
func longLeases(o *kopf.Operator) {
	o.Settings.Scaling.LeaseDuration, o.Settings.Scaling.RenewDeadline = time.Hour, 50*time.Minute
}

// owns waits until a replica handles a number of shards.
func owns(op *kopftest.Operator, n int) {
	op.T().Helper()
	op.WaitInspect(fmt.Sprint("it handles ", n, " shards"), func(s *inspect.Snapshot) bool {
		return s.Operator.Shards != nil && len(s.Operator.Shards.Own) == n
	})
}

func TestShards_SoakUnderKilledAndAddedReplicas(t *testing.T) {
	objects, lasting := 200, 20*time.Second
	if soak, err := time.ParseDuration(os.Getenv("KOPF_SOAK")); err == nil {
		objects, lasting = 2000, soak
	}
	cluster, noted := newCluster(t), &shardCalls{}
	division := shards.Division{Shards: manyShards, Key: shards.ByUID}
	held, recorded := followTenures(t, cluster), followRecords(t, cluster)
	random := rand.New(rand.NewPCG(uint64(lasting), 7)) //nolint:gosec // it has to be the same in each run
	running := map[string]*kopftest.Operator{}
	started := 0
	begin := func() {
		started++
		name := fmt.Sprint("replica-", started)
		running[name] = cluster.Run(noted.register(name, 0), sharded(cluster, name, false))
	}
	for range 4 {
		begin()
	}
	for _, op := range running {
		owns(op, manyShards/4)
	}

	made := make([]*kopftest.Object, objects)
	want := map[string]int{}
	for i := range made {
		made[i] = cluster.Create(plain.of(tree{"metadata": tree{"name": fmt.Sprint("x-", i)}, "spec": tree{"n": 1}}))
		want[uidNow(made[i])] = 1
	}
	cluster.WaitUntil("all are handled", func() bool { return maps.Equal(noted.handled(), want) })
	spread := checkSpread(t, noted.snapshot(), len(running))

	uids := map[int]string{}
	patches, stopped := 0, 0
	move := time.Now()
	for end := time.Now().Add(lasting); time.Now().Before(end); {
		for range 20 {
			i := random.IntN(len(made))
			if uids[i] == "" {
				uids[i] = uidNow(made[i])
			}
			want[uids[i]]++
			made[i].Patch(tree{"spec": tree{"n": want[uids[i]]}})
			patches++
		}
		if time.Now().Before(move) {
			continue
		}
		move = time.Now().Add(time.Duration(1+random.IntN(4)) * time.Second)
		names := slices.Sorted(maps.Keys(running))
		victim := names[random.IntN(len(names))]
		switch kind := random.IntN(3); {
		case kind == 0 && len(running) > 2:
			noted.kill(victim)
			running[victim].Kill()
			delete(running, victim)
		case kind == 1 && len(running) > 2:
			running[victim].Stop()
			delete(running, victim)
			stopped++
		case len(running) < 6:
			begin()
		}
	}
	// A replica may have handled and noted a change just before it was really killed. Then no other replica
	// handles it, so that the test waits for the recorded state.
	cluster.WaitUntil("the last changes are recorded as handled", func() bool { return maps.Equal(recordedChanges(cluster), want) })
	if called := newestOf(noted.every()); !maps.Equal(called, want) {
		t.Errorf("handled, by uid: %v, want %v", called, want)
	}
	noted.checkApart(t, division, recorded)
	held.check(t, division, noted.snapshot())
	writeSoakReport(t, map[string]any{
		"objects": objects, "shards": manyShards, "lasting": lasting.String(), "patches": patches, "calls": len(noted.snapshot()),
		"replicas": map[string]int{"started": started, "stopped": stopped, "killed": len(noted.killed)}, "leaseHolders": held.count(),
		"callsForNewObjectsByReplica": spread, "failed": t.Failed(),
	})
}

// writeSoakReport logs a soak's report, and writes it into the file of $KOPF_SOAK_REPORT.
func writeSoakReport(t *testing.T, report map[string]any) {
	t.Helper()
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if path := os.Getenv("KOPF_SOAK_REPORT"); path != "" {
		if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// checkSpread returns how many calls each replica had. It fails the test if a replica has handled more or less
// than an even share, by more than 20 %.
func checkSpread(t *testing.T, all []shardCall, replicas int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, one := range all {
		counts[one.replica]++
	}
	if len(all) < 1000 {
		return counts // the shares of few objects differ by chance
	}
	even := float64(len(all)) / float64(replicas)
	for replica, n := range counts {
		if share := float64(n) / even; share < 0.8 || share > 1.2 {
			t.Errorf("%s has %.2f of an even share: %v", replica, share, counts)
		}
	}
	return counts
}

func TestShards_GracefulExitHandsOverAtOnce(t *testing.T) {
	cluster, noted := newCluster(t), &shardCalls{}
	first := cluster.Run(noted.register("first", 0), sharded(cluster, "first", false), longLeases)
	owns(first, manyShards)
	second := cluster.Run(noted.register("second", 0), sharded(cluster, "second", false), longLeases)
	owns(first, manyShards/2)
	owns(second, manyShards/2)
	first.Stop()
	owns(second, manyShards)
	for _, lease := range cluster.List("leases.coordination.k8s.io") {
		if strings.Contains(fmt.Sprint(lease.Get("metadata.name")), "-replica-") && lease.Get("spec.holderIdentity") == "first" {
			t.Error("the lease of the replica that has left is still there")
		}
	}
}

func TestShards_RunningHandlerDelaysHandover(t *testing.T) {
	cluster, noted := newCluster(t), &shardCalls{}
	entered, release := make(chan string, 100), make(chan struct{})
	first := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(_ context.Context, c *change) error {
			entered <- string(c.UID)
			<-release // whatever its context says
			return nil
		}, kopf.ID("c"))
	}, sharded(cluster, "first", false), longLeases)
	owns(first, manyShards)
	x := cluster.Create(plain.of(example("x")))
	uid := <-entered
	second := cluster.Run(noted.register("second", 0), sharded(cluster, "second", false), longLeases)
	owns(first, manyShards/2)
	shard := shards.Division{Shards: manyShards, Key: shards.ByUID}.Of(&object.Object{UID: uid})
	keeps := slices.Contains(first.Inspect().Operator.Shards.Own, shard)
	if !keeps {
		first.WaitLog("Some handlers ignore that another replica takes their objects over")
		owns(second, manyShards/2-1)
	}
	close(release)
	owns(second, manyShards/2)
	x.WaitFor("it is handled", func(o *kopf.Object) bool { return o.Get("metadata.annotations") != nil })
	if n := len(noted.snapshot()); n > 1 || keeps && n > 0 {
		t.Errorf("the other replica calls the handler too: %v", noted.snapshot())
	}
}

func TestShards_LeaseTakenByHandStopsTheShard(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	reasons := make(chan kopf.StopReason, 10)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, plains, func(_ context.Context, d *run) error {
			defer r.enter("daemon")()
			<-d.Stopping()
			reasons <- d.StopReason()
			return nil
		}, kopf.ID("daemon"))
	}, sharded(cluster, "only", false))
	owns(op, manyShards)
	x := cluster.Create(plain.of(example("x")))
	r.wait(cluster, "daemon", 1, 1)
	shard := shards.Division{Shards: manyShards, Key: shards.ByUID}.Of(&object.Object{UID: uidNow(x)})
	cluster.Object("leases.coordination.k8s.io", fmt.Sprint("replicas-", shard)).Patch(tree{"spec": tree{"holderIdentity": "somebody"}})
	if reason := <-reasons; reason != kopf.StopOperatorPausing {
		t.Errorf("stop reason %v, want %v", reason, kopf.StopOperatorPausing)
	}
	owns(op, manyShards-1)
	owns(op, manyShards) // once that lease has expired
	r.wait(cluster, "daemon", 1, 2)
	r.neverTwice(t)
	op.Stop()
}

func TestShards_IndexOfHandledResourceIsRefused(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	register := func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnCreate(r, plains, func(context.Context, *change) error { return nil }, kopf.ID("c"))
	}
	err := cluster.RunError(register, sharded(cluster, "one", false))
	if !strings.Contains(err.Error(), "use --shard-key=namespace") {
		t.Error(err)
	}
	cluster.Create(plain.of(withField("x", "v")))
	op := cluster.Run(register, sharded(cluster, "one", true), longLeases)
	owns(op, manyShards)
	b.waitContent(cluster, "v: x")
}

func TestShards_ReplicaWithOtherShardCountWaits(t *testing.T) {
	cluster, noted := newCluster(t), &shardCalls{}
	first := cluster.Run(noted.register("first", 0), sharded(cluster, "first", false), longLeases)
	owns(first, manyShards)
	second := cluster.Run(noted.register("second", 0), sharded(cluster, "second", false), longLeases, func(o *kopf.Operator) {
		o.Settings.Scaling.Shards = 3
	})
	second.WaitLog("Other replicas divide the objects into another number of shards")
	owns(first, manyShards)
	if own := second.Inspect().Operator.Shards; own != nil && len(own.Own) > 0 {
		t.Errorf("both act: %+v", own)
	}
	first.Stop()
	owns(second, 3)
}

func uidNow(o *kopftest.Object) string { return fmt.Sprint(o.Get().Get("metadata.uid")) }
