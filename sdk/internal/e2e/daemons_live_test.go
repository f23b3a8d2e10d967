package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
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
	w := newWorld(t)
	seen := make(chan string)
	op := w.run(func(reg *kopf.Registry) {
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
		timeout := time.After(patience)
		for len(open) > 0 {
			select {
			case s := <-seen:
				delete(open, s)
			case <-timeout:
				t.Fatalf("nobody sees %v:\n%v", open, op.journal.text())
			}
		}
	}
	marked := func(label, annotation string, size any) tree {
		return tree{"metadata": tree{"labels": tree{"l": label}, "annotations": tree{"a": annotation}}, "spec": tree{"size": size}}
	}
	x := marked("l1", "a1", 1)
	x["metadata"].(tree)["name"] = "x"
	w.create(x)
	both("1 l1 a1")
	w.patch("x", marked("l2", "a2", 2))
	both("2 l2 a2")
	// A version that does not fit is passed over, but its metadata are seen.
	w.patch("x", marked("l3", "a3", "huge"))
	both("2 l3 a3")
	w.patch("x", marked("l4", "a4", 4))
	both("4 l4 a4")
	w.delete("x")
	go func() {
		for range seen {
		}
	}()
	w.untilGone("x")
	op.stop()
	close(seen)
	if n := strings.Count(op.journal.text(), "The object does not fit into the handler's type"); n != 2 {
		t.Errorf("%d warnings for two daemons:\n%v", n, op.journal.text())
	}
}

func TestTasksWhoseObjectDoesNotDecodeAreNotCalled(t *testing.T) {
	w := newWorld(t)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *kopf.DaemonRun[sized]) error {
			t.Error("the daemon is called")
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(context.Context, *kopf.TimerTick[sized]) error {
			t.Error("the timer is called")
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	w.create(tree{"metadata": tree{"name": "x"}, "spec": tree{"size": "huge"}})
	for _, who := range []string{"Daemon 'd'", "Timer 't'"} {
		op.journal.wait(t, who+" failed permanently: spec.size is a string, which does not fit into int", 1)
		op.journal.wait(t, who+" has exited on its own", 1)
	}
}

func TestAPanicInTheTypeOfADaemonIsAnErrorAsAnyOther(t *testing.T) {
	w := newWorld(t)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *kopf.DaemonRun[explosive]) error {
			for d.Object().Field != "bad" && d.Sleep(time.Millisecond) {
				continue
			}
			return nil
		}, kopf.ID("d"), kopf.Retries(1))
	})
	w.create(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "bad"}})
	op.journal.wait(t, "Daemon 'd' failed with an exception and will stop now (it would exceed 1 retries on the next attempt): panic: it explodes", 1)
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
	w := newWorld(t)
	w.res = testcluster.Examples(t, w.client)
	var proceed atomic.Bool
	op := w.run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kopf.Resource(w.res.APIVersion(), w.res.Plural), func(_ context.Context, c *tick) error {
			if proceed.Load() {
				c.Result = "written"
			}
			return nil
		}, kopf.ID("t"), kopf.Interval(10*time.Millisecond))
	})
	w.create(example("x"))
	op.journal.wait(t, "Timer 't' succeeded.", 1)
	// The status becomes a subresource: what is written there in the old way, is ignored.
	change := patch.JSONType
	_, err := w.client.Patch(t.Context(), definitionResource, "", w.res.Plural+"."+w.res.Group, "", change,
		[]byte(`[{"op": "add", "path": "/spec/versions/0/subresources", "value": {"status": {}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status is a subresource", func() bool {
		_, err := w.client.WithoutRetries().Patch(t.Context(), w.res, w.ns, "x", "status", patch.MergeType, []byte(`{"status": {"seen": "yes"}}`))
		return err == nil
	}, func() any { return op.journal.text() })
	proceed.Store(true)
	w.until("x", "has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "written" })
}

func TestDaemonsEndWithTheDefinitionThatTheyWereFor(t *testing.T) {
	w, r := newWorld(t), newRoster()
	own := w.ownResource()
	w.categorize(own, w.ns)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kopf.Selector{Category: w.ns}, r.daemon("d", 0), kopf.ID("d"))
		kopf.OnEvent(reg, kopf.Resource(own.Group+"/v1", own.Plural), func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("seen"))
	})
	w.create(example("x"))
	op.journal.wait(t, "Daemon 'd' is invoked.", 1)
	w.until("x", "is blocked", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	w.categorize(own)
	changes := 0
	eventually(t, "the daemon ends with a change of the object", func() bool {
		changes++
		w.patch("x", field(fmt.Sprint(changes)))
		return r.count(r.now, "d x") == 0
	}, func() any { return op.journal.text() })
	w.until("x", "is let go", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestFiltersOfDaemonsAreAskedWhenTheObjectChanges(t *testing.T) {
	w, r := newWorld(t), newRoster()
	var on atomic.Bool
	on.Store(true)
	var seen atomic.Value // the newest version that the filter was asked about
	refused := make(chan string, 1)
	w.run(func(reg *kopf.Registry) {
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
	w.create(example("x"))
	r.until(t, "d x", 1, 1)
	held := w.untilHeld("x")
	eventually(t, "the finalizer is seen", func() bool { return seen.Load() == held.Get("metadata.resourceVersion") }, func() any { return seen.Load() })
	on.Store(false)
	w.patch("x", tree{"spec": tree{"field": "other"}})
	r.until(t, "d x", 0, 1)
	if first := <-refused; first != "other, with 1 running" {
		t.Errorf("the filter has refused %s, first of all", first)
	}
	on.Store(true)
	w.patch("x", tree{"spec": tree{"field": "another"}})
	r.until(t, "d x", 1, 2)
	r.neverTwice(t)
}

func TestADaemonEndsOnlyOnceWhateverItReturns(t *testing.T) {
	w, r := newWorld(t), newRoster()
	w.run(func(reg *kopf.Registry) {
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
	w.create(example("x"))
	want := map[string]int{"nil x": 1, "permanent x": 1, "wrapped x": 1, "restarts x": 5}
	for who, n := range want {
		r.until(t, who, 0, n)
	}
	for n := range 3 {
		w.patch("x", tree{"spec": tree{"field": fmt.Sprint(n)}})
	}
	// Nothing runs that the object would have to be held for.
	w.until("x", "is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	for who, n := range want {
		if got := r.count(r.all, who); got != n {
			t.Errorf("%s: %d runs", who, got)
		}
	}
}
