package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// killAt returns faults that kill an operator at one of its writes, counted from 1, before or after
// the API server gets it. If it is 0, the writes are only counted as faults.
func killAt(write int, after bool) kopftest.Faults {
	rule := kopftest.FaultRule{Match: kopftest.Writes, Fault: kopftest.Fault{Kind: kopftest.FaultNone}}
	if write > 0 {
		rule.Fault = kopftest.Fault{Kind: kopftest.FaultKill, AfterEffect: after}
		rule.Skip, rule.Times = write-1, 1
	}
	return kopftest.Faults{Rules: []kopftest.FaultRule{rule}}
}

// crashing is the life of one object under an operator with two handlers for each cause.
type crashing struct {
	cluster *kopftest.Cluster
	name    string
	calls   calls
	repeats calls // calls of handlers whose success the object had already recorded
}

func (c *crashing) register(r *kopf.Registry) {
	kopf.OnCreate(r, plains, c.does("create_1", 1), kopf.ID("create_1"))
	kopf.OnCreate(r, plains, c.does("create_2", tree{"n": 2}), kopf.ID("create_2"))
	kopf.OnUpdate(r, plains, c.does("update_1", nil), kopf.ID("update_1"))
	kopf.OnUpdate(r, plains, c.does("update_2", nil), kopf.ID("update_2"))
	kopf.OnDelete(r, plains, c.does("delete_1", nil), kopf.ID("delete_1"))
	kopf.OnDelete(r, plains, c.does("delete_2", nil), kopf.ID("delete_2"))
}

// does returns a handler that checks whether the object already has a record of its success.
func (c *crashing) does(id string, result any) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		c.calls.add(id)
		if o := find(c.cluster, plain, c.name); o != nil {
			annotations, _ := o.Get("metadata.annotations").(tree)
			if progressOf(annotations, "kopf.zalando.org/"+id)["success"] == true {
				c.repeats.add(id)
			}
		}
		r.Result = result
		return nil
	}
}

// runReplaced runs an operator behind a proxy, and starts a new operator when the proxy kills it. The returned function ends that.
func runReplaced(cluster *kopftest.Cluster, register func(*kopf.Registry), proxy *kopftest.FaultProxy) (end func()) {
	ended := make(chan struct{})
	var replaced sync.WaitGroup
	op := cluster.Run(register, proxy.Connect, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Millisecond }), withoutInspector)
	killed := proxy.Killed()
	replaced.Go(func() {
		select {
		case <-ended:
		case <-killed:
			op.Stop()
			cluster.Launch(register, withoutInspector)
		}
	})
	return func() {
		close(ended)
		replaced.Wait()
	}
}

// live creates, changes and deletes the object, and starts a new operator when one was killed.
// It returns the states of the object in between.
func (c *crashing) live(proxy *kopftest.FaultProxy) []string {
	cluster := c.cluster
	defer runReplaced(cluster, c.register, proxy)()

	var states []string
	object := cluster.Create(plain.of(example(c.name)))
	states = append(states, essential(waitHandled(object)))
	object.Patch(field("changed"))
	states = append(states, essential(waitHandled(object)))
	object.Delete()
	object.WaitGone()
	return states
}

// essential returns the parts of an object that do not differ from run to run.
func essential(o *kopf.Object) string {
	return asJSON([]any{
		o.Get("metadata.annotations"), o.Get("metadata.labels"), o.Get("metadata.finalizers"), o.Get("spec"), o.Get("status"),
	})
}

func TestCrash_KilledAtAnyWriteIsContinued(t *testing.T) {
	undisturbed := &crashing{cluster: newCluster(t), name: "undisturbed"}
	quiet := undisturbed.cluster.FaultProxy(killAt(0, false))
	states := undisturbed.live(quiet)
	writes := len(quiet.Injected())
	undisturbed.calls.are(t, "create_1", "create_2", "update_1", "update_2", "delete_1", "delete_2")
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d of %d", when, n, writes), func(t *testing.T) {
				c := &crashing{cluster: newCluster(t), name: fmt.Sprintf("killed-%s-%d", when, n)}
				after := when == "after"
				proxy := c.cluster.FaultProxy(killAt(n, after))
				if got := c.live(proxy); !slices.Equal(got, states) {
					t.Errorf("states:\n%s\nundisturbed:\n%s", strings.Join(got, "\n"), strings.Join(states, "\n"))
				}
				receive(c.cluster, "the operator is killed", proxy.Killed()) // the object may be gone before the answer that says so is there
				c.repeats.are(t)
				c.check(t, n, after, writes)
			})
		}
	}
}

// check compares the number of calls. Only a handler whose success was not recorded is called
// again.
func (c *crashing) check(t *testing.T, n int, after bool, of int) {
	t.Helper()
	want := map[string]int{}
	for _, id := range undisturbedOrder {
		want[id] = 1
	}
	unrecorded := map[int]string{2: "create_1", 3: "create_2", 4: "update_1", 5: "update_2", 6: "delete_1", 7: "delete_2"}
	if id := unrecorded[n]; id != "" && !after {
		want[id] = 2
	}
	// The records of a deletion are purged ahead of the finalizer, as Python's operators do
	// it. Between the two, nothing on the object shows that the deletion was handled.
	if n == of-1 && after || n == of && !after {
		want["delete_1"], want["delete_2"] = 2, 2
	}
	got := map[string]int{}
	for _, id := range c.calls.all() {
		got[id]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("called: %v; wanted: %v", got, want)
	}
}

var undisturbedOrder = []string{"create_1", "create_2", "update_1", "update_2", "delete_1", "delete_2"}

func TestCrash_ResultIsLostBeforeItsPatch(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			r.Result = "result"
			return nil
		}, kopf.ID("created"))
	}
	proxy := cluster.FaultProxy(killAt(2, false))
	op := cluster.Run(register, proxy.Connect, withoutInspector)
	x := cluster.Create(example("x"))
	<-proxy.Killed()
	op.Stop()
	again := cluster.Run(register, withoutInspector)
	waitHandled(x)
	again.Stop()
	c.are(t, "created")
	if status := x.Get().Get("status"); status != nil {
		t.Errorf("the status is %v: better than documented", status)
	}
}
