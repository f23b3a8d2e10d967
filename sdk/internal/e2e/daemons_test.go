package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestDaemon_FilterIsEvaluatedOnEachChange(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	refused := make(chan string, 1)
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"), kopf.When(func(_ context.Context, q *kopf.Request) bool {
			if q.Body.Get("spec.field") == "other" {
				select {
				case refused <- fmt.Sprintf("with %d running", r.count(r.now, "d x")):
				default:
				}
				return false
			}
			return true
		}))
	})
	x := cluster.Create(example("x"))
	r.wait(cluster, "d x", 1, 1)
	x.Patch(field("other"))
	r.wait(cluster, "d x", 0, 1)
	if first := <-refused; first != "with 1 running" {
		t.Errorf("the filter has refused the daemon %s, first of all", first)
	}
	x.Patch(field("another"))
	r.wait(cluster, "d x", 1, 2)
	r.neverTwice(t)
}

func TestDaemon_NotRestartedAfterItReturns(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
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
				return kopf.Temporaryf(-1, "again")
			}
			return nil
		}, kopf.ID("restarts"))
	})
	x := cluster.Create(example("x"))
	want := map[string]int{"nil x": 1, "permanent x": 1, "wrapped x": 1, "restarts x": 5}
	for who, n := range want {
		r.wait(cluster, who, 0, n)
	}
	for n := range 3 {
		x.Patch(tree{"spec": tree{"field": fmt.Sprint(n)}})
	}
	// No running daemon or timer needs the finalizer.
	x.WaitFor("it is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	for who, n := range want {
		if got := r.count(r.all, who); got != n {
			t.Errorf("%s: %d runs", who, got)
		}
	}
}

// runCounts counts the runs of daemons and timers: how many there are now, and how many there
// were at the same time and in all.
type runCounts struct {
	mu             sync.Mutex
	now, most, all map[string]int
}

func newRunCounts() *runCounts {
	return &runCounts{now: map[string]int{}, most: map[string]int{}, all: map[string]int{}}
}

func (r *runCounts) enter(who string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now[who]++
	r.all[who]++
	r.most[who] = max(r.most[who], r.now[who])
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now[who]--
	}
}

func (r *runCounts) count(of map[string]int, who string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return of[who]
}

// wait waits until now runs are active, and at least all runs were started.
func (r *runCounts) wait(cluster *kopftest.Cluster, who string, now, all int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprintf("there are %d runs of %s, %d in all", now, who, all),
		func() bool { return r.count(r.now, who) == now && r.count(r.all, who) >= all })
}

// neverTwice fails the test if there was more than one run of any at the same time.
func (r *runCounts) neverTwice(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for who, most := range r.most {
		if most > 1 {
			t.Errorf("%d runs of %s at the same time", most, who)
		}
	}
}

// daemon returns a daemon that runs until it is asked to stop, and then for some time more.
func (r *runCounts) daemon(id string, ends time.Duration) func(context.Context, *run) error {
	return func(_ context.Context, d *run) error {
		defer r.enter(id + " " + d.Name)()
		<-d.Stopping()
		time.Sleep(ends) // time for its cleanup
		return nil
	}
}

func TestDaemon_OneAtATimeThroughRestarts(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	register := func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("a", 30*time.Millisecond), kopf.ID("a"))
		kopf.Daemon(reg, kexes, r.daemon("b", 0), kopf.ID("b"))
	}
	op := cluster.Run(register)
	cluster.Create(example("x"))
	for life := range 4 {
		r.wait(cluster, "a x", 1, life+1)
		r.wait(cluster, "b x", 1, life+1)
		op.Stop()
		r.wait(cluster, "a x", 0, life+1)
		op = cluster.Run(register)
	}
	r.neverTwice(t)
	if n := r.count(r.all, "a x"); n > 5 {
		t.Errorf("%d runs in 5 lives", n)
	}
}

func TestDaemon_OneAtATimeThroughPauses(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("slow", 100*time.Millisecond), kopf.ID("slow"))
		kopf.Daemon(reg, kexes, r.daemon("quick", 0), kopf.ID("quick"))
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	r.wait(cluster, "slow x", 1, 1) // the attempts are reported before the daemons count them
	r.wait(cluster, "quick x", 1, 1)
	for range 6 {
		// The operator is resumed while the slow daemon is still stopping.
		op.Pause()
		r.wait(cluster, "quick x", 0, 1)
		op.Resume()
		r.wait(cluster, "quick x", 1, 1)
	}
	op.Pause()
	r.wait(cluster, "slow x", 0, 1)
	r.wait(cluster, "quick x", 0, 1)
	phases(op, "x", inspect.StateSettled, "slow=next", "quick=next")
	runs := r.count(r.all, "slow x")
	x.Patch(field("changed in a pause"))
	op.Resume()
	phases(op, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	r.wait(cluster, "slow x", 1, 1)
	if n := r.count(r.all, "slow x"); n != runs+1 {
		t.Errorf("it has run %d times during the pause", n-runs-1)
	}
	r.neverTwice(t)
	op.Stop()
	r.wait(cluster, "slow x", 0, 1)
}

func TestDaemon_OneAtATimeWhileFilterFlaps(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		// The daemon takes longer to stop than the label to change.
		kopf.Daemon(reg, kexes, r.daemon("d", 20*time.Millisecond), kopf.ID("d"), kopf.Labels{"on": "yes"},
			kopf.Cancellation{Backoff: time.Hour})
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateIgnored, "d=filtered")
	for i := range 20 {
		on := any(nil)
		if i%2 == 0 {
			on = "yes"
		}
		x.Patch(tree{"metadata": tree{"labels": tree{"on": on}}})
		switch i { // sometimes it comes that far
		case 0, 10:
			r.wait(cluster, "d x", 1, 1+i/10)
		case 5, 15:
			r.wait(cluster, "d x", 0, 1+i/10)
		}
	}
	x.Patch(tree{"metadata": tree{"labels": tree{"on": "yes"}}})
	r.wait(cluster, "d x", 1, 1)
	phases(op, "x", inspect.StateSettled, "d=alive")
	x.Patch(tree{"metadata": tree{"labels": tree{"on": nil}}})
	r.wait(cluster, "d x", 0, 1)
	phases(op, "x", inspect.StateIgnored, "d=filtered")
	r.neverTwice(t)
	x.WaitFor("it has no finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestDaemon_OnlyFinalizerIsWritten(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"), kopf.Labels{"somelabel": "somevalue"})
		kopf.Timer(reg, kexes, func(context.Context, *tick) error { return nil },
			kopf.ID("t"), kopf.Interval(time.Millisecond), kopf.Labels{"somelabel": "somevalue"})
	}, logPatches)
	x := cluster.Create(example("x"))
	cluster.Create(kex.of(tree{"metadata": tree{"name": "foreign"}}))
	r.wait(cluster, "d x", 1, 1)
	o := waitHeld(x)
	op.WaitLogs("Timer 't' succeeded.", 10)
	if annotations := o.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("there are marks: %v", annotations)
	}
	if foreign := cluster.Object(kex.name(), "foreign").Get(); foreign.Get("metadata.finalizers") != nil || foreign.Get("metadata.annotations") != nil {
		t.Error("an object that no handler matches is not left alone")
	}
	if n := len(patchesOf(op)); n != 1 {
		t.Errorf("%d requests: %v", n, patchesOf(op))
	}
	x.Delete()
	x.WaitGone()
	r.wait(cluster, "d x", 0, 1)
}
