package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// sized is what a typed daemon reads of an object.
type sized struct {
	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

func TestDaemonsSeeTheObjectAsItIsNow(t *testing.T) {
	cluster := newCluster(t)
	seen := make(chan string)
	op := cluster.Run(func(reg *kopf.Registry) {
		for _, id := range []string{"a", "b"} {
			kopf.Daemon(reg, kexes, func(_ context.Context, d *kopf.DaemonRun[sized]) error {
				for {
					changed := d.Changed()
					seen <- fmt.Sprintf("%s %d %s %s", id, d.Object().Spec.Size, d.Labels()["l"], d.Annotations()["a"])
					select {
					case <-changed:
					case <-d.Stopping():
						return nil
					}
				}
			}, kopf.ID(id))
		}
	})
	both := func(what string) {
		t.Helper()
		open := map[string]bool{"a " + what: true, "b " + what: true}
		for len(open) > 0 {
			select {
			case s := <-seen:
				delete(open, s)
			case <-t.Context().Done():
				t.Fatalf("nobody sees %v:\n%v", open, op.Log())
			}
		}
	}
	marked := func(label, annotation string, size any) tree {
		return tree{"metadata": tree{"labels": tree{"l": label}, "annotations": tree{"a": annotation}}, "spec": tree{"size": size}}
	}
	x := marked("l1", "a1", 1)
	x["metadata"].(tree)["name"] = "x"
	cluster.Create(kex.of(x))
	both("1 l1 a1")
	cluster.Object(kex.name(), "x").Patch(marked("l2", "a2", 2))
	both("2 l2 a2")
	// A version that does not fit is passed over, but its metadata are seen.
	cluster.Object(kex.name(), "x").Patch(marked("l3", "a3", "huge"))
	both("2 l3 a3")
	cluster.Object(kex.name(), "x").Patch(marked("l4", "a4", 4))
	both("4 l4 a4")
	cluster.Object(kex.name(), "x").Delete()
	go func() {
		for range seen {
		}
	}()
	cluster.Object(kex.name(), "x").WaitGone()
	op.Stop()
	close(seen)
	if n := strings.Count(op.Log(), "The object does not fit into the handler's type"); n != 2 {
		t.Errorf("%d warnings for two daemons:\n%v", n, op.Log())
	}
}

func TestTasksWhoseObjectDoesNotDecodeAreNotCalled(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *kopf.DaemonRun[sized]) error {
			t.Error("the daemon is called")
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(context.Context, *kopf.TimerTick[sized]) error {
			t.Error("the timer is called")
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	cluster.Create(kex.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"size": "huge"}}))
	for _, who := range []string{"Daemon 'd'", "Timer 't'"} {
		op.WaitLog(who + " failed permanently: spec.size is a string, which does not fit into int")
		op.WaitLog(who + " has exited on its own")
	}
}

func TestAPanicInTheTypeOfADaemonIsAnErrorAsAnyOther(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *kopf.DaemonRun[explosive]) error {
			for d.Object().Field != "bad" && d.Sleep(time.Millisecond) {
				continue
			}
			return nil
		}, kopf.ID("d"), kopf.Retries(1))
	})
	cluster.Create(kex.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "bad"}}))
	op.WaitLog("Daemon 'd' failed with an exception and will stop now (it would exceed 1 retries on the next attempt): panic: it explodes")
}

// explosive is a type that some objects make panic.
type explosive struct{ Field string }

func (e *explosive) UnmarshalJSON(raw []byte) error {
	if strings.Contains(string(raw), `"bad"`) {
		panic("it explodes")
	}
	return nil
}

func TestDaemonsHeedADefinitionThatChanges(t *testing.T) {
	cluster := newCluster(t)
	own := kex
	own.group, own.status = cluster.Namespace+".kopf.dev", false
	own.define(cluster)
	var proceed atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, own.selector(), func(_ context.Context, c *tick) error {
			if proceed.Load() {
				c.Result = "written"
			}
			return nil
		}, kopf.ID("t"), kopf.Interval(10*time.Millisecond))
	})
	x := cluster.Create(own.of(example("x")))
	op.WaitLog("Timer 't' succeeded.")
	// The status becomes a subresource: what is written there in the old way, is ignored.
	own.status = true
	own.define(cluster)
	client := testcluster.Client(t, kube.ClientOptions{}).WithoutRetries()
	cluster.WaitUntil("the status is a subresource", func() bool {
		path := "/apis/" + own.group + "/v1/namespaces/" + cluster.Namespace + "/" + own.plural + "/x/status"
		_, err := client.Do(t.Context(), kube.Request{Method: http.MethodGet, Path: path})
		return err == nil
	})
	proceed.Store(true)
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "written" })
}

func TestDaemonsEndWithTheDefinitionThatTheyWereFor(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	own := ownResource(cluster)
	categorize(cluster, own, cluster.Namespace)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kopf.Selector{Category: cluster.Namespace}, r.daemon("d", 0), kopf.ID("d"))
		kopf.OnEvent(reg, own.selector(), func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("seen"))
	})
	x := cluster.Create(own.of(example("x")))
	op.WaitLog("Daemon 'd' is invoked.")
	x.WaitFor("it is blocked", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	categorize(cluster, own)
	changes := 0
	cluster.WaitUntil("the daemon ends with a change of the object", func() bool {
		changes++
		x.Patch(field(fmt.Sprint(changes)))
		return r.count(r.now, "d x") == 0
	})
	x.WaitFor("it is let go", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestFiltersOfDaemonsAreAskedWhenTheObjectChanges(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	var on atomic.Bool
	on.Store(true)
	var seen atomic.Value // the newest version that the filter was asked about
	refused := make(chan string, 1)
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"), kopf.When(func(q *kopf.Request) bool {
			if !on.Load() {
				select {
				case refused <- fmt.Sprintf("%v, with %d running", q.Body.Get("spec.field"), r.count(r.now, "d x")):
				default:
				}
				return false
			}
			seen.Store(q.Body.Get("metadata.resourceVersion"))
			return true
		}))
	})
	x := cluster.Create(example("x"))
	r.until(cluster, "d x", 1, 1)
	held := waitHeld(x)
	cluster.WaitUntil("the finalizer is seen", func() bool { return seen.Load() == held.Get("metadata.resourceVersion") })
	on.Store(false)
	x.Patch(tree{"spec": tree{"field": "other"}})
	r.until(cluster, "d x", 0, 1)
	if first := <-refused; first != "other, with 1 running" {
		t.Errorf("the filter has refused %s, first of all", first)
	}
	on.Store(true)
	x.Patch(tree{"spec": tree{"field": "another"}})
	r.until(cluster, "d x", 1, 2)
	r.neverTwice(t)
}

func TestADaemonEndsOnlyOnceWhateverItReturns(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	cluster.Run(func(reg *kopf.Registry) {
		for id, err := range map[string]error{
			"nil": nil, "permanent": kopf.Permanentf("never again"), "wrapped": errors.Join(errors.New("so"), kopf.Permanentf("it is")),
		} {
			kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
				defer r.enter(id + " " + d.Name)()
				return err
			}, kopf.ID(id))
		}
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("restarts " + d.Name)()
			if d.Retry < 4 {
				return kopf.Temporaryf(0, "again")
			}
			return nil
		}, kopf.ID("restarts"))
	})
	x := cluster.Create(example("x"))
	want := map[string]int{"nil x": 1, "permanent x": 1, "wrapped x": 1, "restarts x": 5}
	for who, n := range want {
		r.until(cluster, who, 0, n)
	}
	for n := range 3 {
		x.Patch(tree{"spec": tree{"field": fmt.Sprint(n)}})
	}
	// Nothing runs that the object would have to be held for.
	x.WaitFor("it is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	for who, n := range want {
		if got := r.count(r.all, who); got != n {
			t.Errorf("%s: %d runs", who, got)
		}
	}
}
