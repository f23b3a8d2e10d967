package peering_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) {
	kopftest.RunAs("peer", peer)
	// The tests mostly wait for records to expire. The flag of the command line has precedence.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testmain.Run(m, testcluster.Exit)
}

type tree = map[string]any

var kexes = kopf.Resource("kopf.dev/v1", "kopfexamples")

// newCluster has the resources of peering, but no peering object.
func newCluster(t *testing.T) *kopftest.Cluster {
	t.Helper()
	cluster := kopftest.New(t)
	cluster.ApplyFile("../../examples/crd.yaml", "../../examples/06-peering/peering.yaml")
	return cluster
}

func peeringObject(cluster *kopftest.Cluster, name string) *kopftest.Object {
	cluster.T().Helper()
	return cluster.Create(tree{"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": tree{"name": name}})
}

func example(name string) tree {
	return tree{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": tree{"name": name}, "spec": tree{"field": "0"}}
}

// lifetime is as short as allows a keep-alive each second, with a margin for slow machines.
const lifetime = 8 * time.Second

// team are operators that record which of them handled what.
type team struct {
	cluster *kopftest.Cluster
	members map[string]*kopftest.Operator

	mu      sync.Mutex
	handled map[string][]string // "object=field" → names of the operators that handled it
	running map[string]string   // running daemons: object → name of the operator
	overlap []string            // daemons of several operators at a time
	stops   []kopf.StopReason
}

func newTeam(cluster *kopftest.Cluster) *team {
	return &team{cluster: cluster, members: map[string]*kopftest.Operator{}, handled: map[string][]string{}, running: map[string]string{}}
}

// launch starts an operator. Its priority follows its name: "b100".
func (x *team) launch(name string, priority int, configure ...func(*kopf.Operator)) *kopftest.Operator {
	x.cluster.T().Helper()
	configure = append([]func(*kopf.Operator){func(o *kopf.Operator) {
		o.Identity = name
		o.Settings.Peering.Priority, o.Settings.Peering.Lifetime = priority, lifetime
	}}, configure...)
	op := x.cluster.Launch(func(r *kopf.Registry) {
		handle := func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			what := fmt.Sprintf("%s=%v", c.Name, c.Object.Get("spec.field"))
			x.handled[what] = append(x.handled[what], name)
			return nil
		}
		kopf.OnCreate(r, kexes, handle, kopf.ID("handle"))
		kopf.OnUpdate(r, kexes, handle, kopf.ID("handle"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			x.enter(d.Name, name)
			<-d.Stopping()
			x.leave(d.Name, name, d.StopReason())
			return nil
		}, kopf.ID("daemon"))
	}, configure...)
	x.members[name] = op
	return op
}

func (x *team) enter(object, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if other := x.running[object]; other != "" {
		x.overlap = append(x.overlap, other+" and "+name)
	}
	x.running[object] = name
}

func (x *team) leave(object, name string, why kopf.StopReason) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stops = append(x.stops, why)
	if x.running[object] == name {
		delete(x.running, object)
	}
}

func (x *team) handledBy(what string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.handled[what])
}

// states waits until the operators are in these states.
func (x *team) states(want map[string]inspect.OperatorState) {
	x.cluster.T().Helper()
	for name, state := range want {
		x.members[name].WaitInspect(fmt.Sprintf("%s is %s", name, state), func(s *inspect.Snapshot) bool { return s.Operator.State == state })
	}
}

// acts changes an object and waits until the operator with the name, alone, has handled that.
func (x *team) acts(o *kopftest.Object, value, name string) {
	t := x.cluster.T()
	t.Helper()
	o.Patch(tree{"spec": tree{"field": value}})
	what := o.Name + "=" + value
	x.cluster.WaitUntil(what+" is handled", func() bool { return len(x.handledBy(what)) > 0 })
	o.WaitFor("that is recorded", func(k *kopf.Object) bool { return k.Get("metadata.annotations") != nil })
	if by := x.handledBy(what); !slices.Equal(by, []string{name}) {
		t.Errorf("%s is handled by %v; want %s", what, by, name)
	}
}

const (
	running = inspect.OperatorRunning
	paused  = inspect.OperatorPaused
)

func TestPeering_OneOfThreeActs(t *testing.T) {
	for _, order := range [][]string{
		{"a", "b", "high"}, {"a", "high", "b"}, {"b", "a", "high"}, {"b", "high", "a"}, {"high", "a", "b"}, {"high", "b", "a"},
	} {
		for _, end := range []string{"graceful", "killed"} {
			t.Run(fmt.Sprintf("%v %s", order, end), func(t *testing.T) {
				t.Parallel()
				cluster := newCluster(t)
				object := peeringObject(cluster, "default")
				x := newTeam(cluster)
				leave := func(name string) {
					if end == "killed" {
						x.members[name].Kill()
					} else {
						x.members[name].Stop()
						if _, there := object.Get().Get(kopf.Path("status." + name)).(tree); there {
							t.Errorf("%s has left, but its record is there", name)
						}
					}
				}
				priorities := map[string]int{"high": 100}
				for _, name := range order {
					x.launch(name, priorities[name])
					x.members[name].WaitInspect("it has looked at its peers", func(s *inspect.Snapshot) bool {
						return len(s.Operator.Peerings) == 1 && s.Operator.Peerings[0].Exists && len(s.Operator.Peerings[0].Peers) > 0
					})
				}
				x.states(map[string]inspect.OperatorState{"high": running, "a": paused, "b": paused})
				kex := cluster.Create(example("kex"))
				x.acts(kex, "1", "high")
				pauses := x.members["a"].WaitInspect("high alone has paused it", func(s *inspect.Snapshot) bool {
					return len(s.Operator.Pauses) == 1 && slices.Equal(s.Operator.Pauses[0].By, []string{"high"})
				}).Operator.Pauses
				if pauses[0].Until.IsZero() || pauses[0].Kind != inspect.PausePeering {
					t.Errorf("it tells until when it is paused, and why: %+v", pauses)
				}

				leave("high")
				for _, name := range []string{"a", "b"} {
					x.members[name].WaitLog("Possibly conflicting operators with the same priority")
				}
				x.states(map[string]inspect.OperatorState{"a": paused, "b": paused})
				kex.Patch(tree{"spec": tree{"field": "2"}})

				leave("b")
				x.states(map[string]inspect.OperatorState{"a": running})
				cluster.WaitUntil("what changed meanwhile is handled", func() bool { return len(x.handledBy("kex=2")) > 0 })
				x.acts(kex, "3", "a")
				if by := x.handledBy("kex=2"); !slices.Equal(by, []string{"a"}) {
					t.Errorf("it is handled by %v", by)
				}
				object.WaitFor("dead peers are removed", func(o *kopf.Object) bool {
					peers, _ := o.Get("status").(tree)
					return len(peers) == 1
				})
				x.members["a"].Stop()
				if len(x.overlap) > 0 {
					t.Errorf("daemons of several operators ran at a time: %v", x.overlap)
				}
			})
		}
	}
}

func TestPeering_ChangesDuringPauseAreHandledOnce(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	object := peeringObject(cluster, "default")
	x := newTeam(cluster)
	x.launch("op", 0).WaitReady()
	const n = 100
	kexes := make([]*kopftest.Object, n)
	for i := range kexes {
		kexes[i] = cluster.Create(example(fmt.Sprintf("kex%d", i)))
	}
	cluster.WaitUntil("all are handled", func() bool { x.mu.Lock(); defer x.mu.Unlock(); return len(x.handled) == n && len(x.running) == n })

	// Kopf for Python writes this record when a user freezes the operator.
	object.Patch(tree{"status": tree{"alice@laptop": tree{"priority": 100, "lifetime": 3600, "lastseen": time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")}}})
	x.states(map[string]inspect.OperatorState{"op": paused})
	cluster.WaitUntil("the daemons stop", func() bool { x.mu.Lock(); defer x.mu.Unlock(); return len(x.running) == 0 })
	for _, why := range x.stops {
		if why != kopf.StopOperatorPausing {
			t.Errorf("stopped since %v", why)
		}
	}
	for i, o := range kexes {
		o.Patch(tree{"spec": tree{"field": "1"}})
		if i%2 == 0 {
			o.Patch(tree{"spec": tree{"field": "2"}})
		}
	}
	record, _ := object.Get().Get("status.op").(tree)
	if pause, _ := record["paused"].(tree); asText(pause["by"]) != "[alice@laptop]" {
		t.Errorf("the object tells who paused it: %v", record)
	}
	object.Patch(tree{"status": tree{"alice@laptop": nil}})
	x.states(map[string]inspect.OperatorState{"op": running})
	cluster.WaitUntil("all are handled", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.handled) == 2*n && len(x.running) == n
	})
	object.WaitFor("it is not paused anymore", func(o *kopf.Object) bool {
		record, _ := o.Get("status.op").(tree)
		return record != nil && record["paused"] == nil
	})
	x.members["op"].Stop()
	for what, by := range x.handled {
		if len(by) != 1 {
			t.Errorf("%s is handled %d times", what, len(by))
		}
	}
	for i := range n {
		want := "1"
		if i%2 == 0 {
			want = "2"
		}
		if len(x.handled[fmt.Sprintf("kex%d=%s", i, want)]) != 1 {
			t.Errorf("the last change of kex%d is not handled", i)
		}
	}
}

func asText(v any) string { return fmt.Sprint(v) }

func TestPeering_ObjectComesAndGoes(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	x := newTeam(cluster)
	mandatory := func(o *kopf.Operator) { o.Settings.Peering.Mandatory = true }
	x.launch("free", 0).WaitReady() // without the object, it is on its own
	cluster.Create(example("before"))
	cluster.WaitUntil("it acts", func() bool { return len(x.handledBy("before=0")) == 1 })
	x.launch("bound", 10, mandatory).WaitLog("Pausing until KopfPeering default in " + cluster.Namespace + " exists")
	x.states(map[string]inspect.OperatorState{"free": running, "bound": paused})

	object := peeringObject(cluster, "default")
	x.states(map[string]inspect.OperatorState{"free": paused, "bound": running})
	object.Delete()
	object.WaitGone()
	x.states(map[string]inspect.OperatorState{"free": running, "bound": paused})
	x.launch("alone", 0, mandatory, func(o *kopf.Operator) { o.Settings.Peering.Mandatory, o.Settings.Peering.Standalone = false, true }).WaitReady()
}

func TestPeering_ObjectsDoNotConcernEachOther(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	peeringObject(cluster, "one")
	peeringObject(cluster, "two")
	x := newTeam(cluster)
	for _, name := range []string{"one", "two"} {
		x.launch(name, 0, func(o *kopf.Operator) { o.Settings.Peering.Name, o.Settings.Peering.Mandatory = name, true }).WaitReady()
	}
	x.states(map[string]inspect.OperatorState{"one": running, "two": running})
}
