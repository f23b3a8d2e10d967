package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// roster counts the runs of daemons and timers: how many there are now, and how many there
// were at the same time and in all.
type roster struct {
	mu             sync.Mutex
	now, most, all map[string]int
}

func newRoster() *roster {
	return &roster{now: map[string]int{}, most: map[string]int{}, all: map[string]int{}}
}

func (r *roster) enter(who string) (leave func()) {
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

func (r *roster) count(of map[string]int, who string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return of[who]
}

// until waits until as many runs go on, and so many were started in all.
func (r *roster) until(cluster *kopftest.Cluster, who string, now, all int) {
	cluster.WaitUntil(fmt.Sprintf("there are %d runs of %s, %d in all", now, who, all),
		func() bool { return r.count(r.now, who) == now && r.count(r.all, who) >= all })
}

// neverTwice checks that there was never more than one run of each.
func (r *roster) neverTwice(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for who, most := range r.most {
		if most > 1 {
			t.Errorf("%d runs of %s at the same time", most, who)
		}
	}
}

// daemon runs until it is asked to end, and then for some time more.
func (r *roster) daemon(id string, ends time.Duration) func(context.Context, *run) error {
	return func(_ context.Context, d *run) error {
		defer r.enter(id + " " + d.Name)()
		<-d.Stopping()
		time.Sleep(ends) // what it has to clean up
		return nil
	}
}

// phases waits until the handlers of an object stand as wanted: "id=phase", and returns
// the object.
func phases(op *kopftest.Operator, name string, state inspect.ObjectState, want ...string) inspect.Object {
	var seen inspect.Object
	op.WaitInspect(fmt.Sprintf("%s is %s with %s", name, state, want), func(snapshot *inspect.Snapshot) bool {
		for _, o := range snapshot.Objects {
			if o.Name != name {
				continue
			}
			seen = o
			var all []string
			for _, h := range o.Handlers {
				all = append(all, h.ID+"="+string(h.State))
			}
			return o.State == state && slices.Equal(all, want)
		}
		return false
	})
	return seen
}

func TestThereIsOneOfEachDaemonThroughRestarts(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	register := func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("a", 30*time.Millisecond), kopf.ID("a"))
		kopf.Daemon(reg, kexes, r.daemon("b", 0), kopf.ID("b"))
	}
	op := cluster.Run(register)
	cluster.Create(example("x"))
	for life := range 4 {
		r.until(cluster, "a x", 1, life+1)
		r.until(cluster, "b x", 1, life+1)
		op.Stop()
		r.until(cluster, "a x", 0, life+1)
		op = cluster.Run(register)
	}
	r.neverTwice(t)
	if n := r.count(r.all, "a x"); n > 5 {
		t.Errorf("%d runs in 5 lives", n)
	}
}

func TestThereIsOneOfEachDaemonThroughPauses(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("slow", 100*time.Millisecond), kopf.ID("slow"))
		kopf.Daemon(reg, kexes, r.daemon("quick", 0), kopf.ID("quick"))
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	for range 6 {
		// It is resumed while the slow one still ends.
		op.Pause()
		r.until(cluster, "quick x", 0, 1)
		op.Resume()
		r.until(cluster, "quick x", 1, 1)
	}
	op.Pause()
	r.until(cluster, "slow x", 0, 1)
	r.until(cluster, "quick x", 0, 1)
	phases(op, "x", inspect.StateSettled, "slow=next", "quick=next")
	x.Patch(tree{"spec": tree{"field": "changed while nobody looks"}})
	time.Sleep(50 * time.Millisecond) // nothing is to come of it
	r.until(cluster, "slow x", 0, 1)
	op.Resume()
	phases(op, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	r.neverTwice(t)
	op.Stop()
	r.until(cluster, "slow x", 0, 1)
}

func TestNothingIsMissedHoweverShortAPauseIs(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
			c.Patch.Set("status.seen", c.Body.Get("spec.field"))
			return nil
		}, kopf.ID("update"))
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"))
	})
	x := cluster.Create(example("x"))
	r.until(cluster, "d x", 1, 1)
	for n := range 30 {
		value := fmt.Sprint(n)
		var both sync.WaitGroup
		both.Go(func() {
			for range 5 {
				op.Pause()
				op.Resume()
			}
		})
		x.Patch(field(value))
		both.Wait()
		x.WaitFor("it is handled", func(o *kopf.Object) bool { return o.Get("status.seen") == value })
		r.until(cluster, "d x", 1, 1)
	}
	r.neverTwice(t)
	op.Stop()
}

func TestThereIsOneOfEachDaemonHoweverFiltersFlap(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		// It takes longer to end than the label to change.
		kopf.Daemon(reg, kexes, r.daemon("d", 20*time.Millisecond), kopf.ID("d"), kopf.Labels{"on": "yes"},
			kopf.CancellationBackoff(time.Hour))
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateIgnored, "d=filtered")
	for i := range 20 {
		on := any(nil)
		if i%2 == 0 {
			on = "yes"
		}
		x.Patch(tree{"metadata": tree{"labels": tree{"on": on}}})
		if i%5 == 0 {
			time.Sleep(15 * time.Millisecond) // sometimes it comes that far
		}
	}
	x.Patch(tree{"metadata": tree{"labels": tree{"on": "yes"}}})
	r.until(cluster, "d x", 1, 1)
	phases(op, "x", inspect.StateSettled, "d=alive")
	x.Patch(tree{"metadata": tree{"labels": tree{"on": nil}}})
	r.until(cluster, "d x", 0, 1)
	phases(op, "x", inspect.StateIgnored, "d=filtered")
	r.neverTwice(t)
	x.WaitFor("it is not held any more", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestObjectsWithDaemonsAloneGetTheFinalizerAndNothingElse(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"), kopf.Labels{"somelabel": "somevalue"})
		kopf.Timer(reg, kexes, func(context.Context, *kopf.TimerTick[kopf.Object]) error { return nil },
			kopf.ID("t"), kopf.Interval(time.Millisecond), kopf.Labels{"somelabel": "somevalue"})
	}, logPatches)
	x := cluster.Create(example("x"))
	cluster.Create(kex.of(tree{"metadata": tree{"name": "foreign"}}))
	r.until(cluster, "d x", 1, 1)
	o := waitHeld(x)
	op.WaitLogs("Timer 't' succeeded.", 10)
	if annotations := o.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("there are marks: %v", annotations)
	}
	if foreign := cluster.Object(kex.name(), "foreign").Get(); foreign.Get("metadata.finalizers") != nil || foreign.Get("metadata.annotations") != nil {
		t.Error("an object that no handler is for is not left alone")
	}
	if n := len(patchesOf(op)); n != 1 {
		t.Errorf("%d requests: %v", n, patchesOf(op))
	}
	x.Delete()
	x.WaitGone()
	r.until(cluster, "d x", 0, 1)
}

func TestDeletionsWaitForSlowDaemons(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	release := make(chan struct{})
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			defer r.enter("d " + d.Name)()
			<-ctx.Done()
			if reason := context.Cause(ctx); reason != kopf.StopResourceDeleted || d.StopReason() != reason { //nolint:errorlint // the very one
				t.Errorf("it is cancelled because of %v, and stopped because of %v", reason, d.StopReason())
			}
			<-release
			d.Patch.Set("metadata.annotations.bye", "bye")
			d.Result = "done"
			return ctx.Err()
		}, kopf.ID("d"))
	}, logPatches)
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateSettled, "d=alive")
	waitHeld(x)
	x.Delete()
	phases(op, "x", inspect.StateDeleting, "d=stopping")
	op.WaitLog("Daemon 'd' is still exiting.")
	x.Patch(tree{"spec": tree{"field": "other"}}) // it is looked after again
	if o := x.Get(); o == nil {
		t.Fatal("it is gone ahead of its daemon")
	}
	close(release)
	x.WaitGone()
	op.WaitLog("Daemon 'd' is cancelled.")
	sent := false
	for _, e := range op.LogEntries() {
		sent = sent || strings.Contains(attr(e, "body"), `"bye":"bye"`)
		if e.Level >= slog.LevelWarn {
			t.Error(e)
		}
	}
	if !sent {
		t.Errorf("its last patch is not sent: %v", patchesOf(op))
	}
}

func TestDaemonsThatDoNotEndAreAbandoned(t *testing.T) {
	cluster := newCluster(t)
	release := make(chan struct{})
	var ended atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *run) error {
			<-release
			ended.Store(true)
			return nil
		}, kopf.ID("d"), kopf.CancellationBackoff(300*time.Millisecond), kopf.CancellationTimeout(50*time.Millisecond))
	})
	x := cluster.Create(example("x"))
	op.WaitLog("Daemon 'd' is invoked.")
	waitHeld(x)
	x.Delete()
	x.WaitGone()
	if ended.Load() {
		t.Error("it has ended after all")
	}
	op.WaitLog("Daemon 'd' is signalled to exit gracefully.")
	op.WaitLog("Daemon 'd' did not exit in time. Leaving it orphaned.")
	close(release)
}

func TestForceDeletedObjectsTakeTheirDaemonsAlong(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 50*time.Millisecond), kopf.ID("d"), kopf.CancellationBackoff(time.Minute))
	})
	x := cluster.Create(example("x"))
	r.until(cluster, "d x", 1, 1)
	waitHeld(x)
	x.Delete()
	x.Patch(tree{"metadata": tree{"finalizers": nil}})
	x.WaitGone()
	r.until(cluster, "d x", 0, 1)
	op.WaitLog("Daemon 'd' has exited on request")
	// Nobody remembers it.
	remembers(op, 0)
	cluster.Create(example("x"))
	r.until(cluster, "d x", 1, 2)
	r.neverTwice(t)
}
