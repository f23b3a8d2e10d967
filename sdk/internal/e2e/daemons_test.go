package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

type run = kopf.DaemonRun[kopf.Object]

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
func (r *roster) until(t testing.TB, who string, now, all int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d runs of %s, %d in all", now, who, all),
		func() bool { return r.count(r.now, who) == now && r.count(r.all, who) >= all },
		func() any { return fmt.Sprintf("now %v, at most %v, in all %v", r.now, r.most, r.all) })
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

// inspected lets a test look into the operator.
func inspected(t *testing.T) (func(*kopf.Settings), *inspect.Client) {
	t.Helper()
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	client, err := inspect.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *kopf.Settings) { s.Process.Inspector = address }, client
}

// phases waits until the handlers of an object stand as wanted: "id=phase", and returns
// the object.
func phases(t *testing.T, client *inspect.Client, name string, state inspect.ObjectState, want ...string) inspect.Object {
	t.Helper()
	var seen inspect.Object
	eventually(t, fmt.Sprintf("%s is %s with %s", name, state, want), func() bool {
		snapshot, err := client.Snapshot(t.Context())
		if err != nil {
			return false
		}
		for _, o := range snapshot.Objects {
			if o.Name != name {
				continue
			}
			seen = o
			var all []string
			for _, h := range o.Handlers {
				all = append(all, h.ID+"="+string(h.State))
			}
			return o.State == state && strings.Join(all, " ") == strings.Join(want, " ")
		}
		return false
	}, func() any { return fmt.Sprintf("%s %+v", seen.State, seen.Handlers) })
	return seen
}

// untilHeld waits until the object has the finalizer.
func (w *world) untilHeld(name string) *kopf.Object {
	w.t.Helper()
	return w.until(name, "is held", func(o *kopf.Object) bool { return o != nil && o.Get("metadata.finalizers") != nil })
}

func intend(t *testing.T, client *inspect.Client, kind inspect.IntentKind) {
	t.Helper()
	if err := client.Do(t.Context(), inspect.Intent{Kind: kind}); err != nil {
		t.Fatal(err)
	}
}

func TestThereIsOneOfEachDaemonThroughRestarts(t *testing.T) {
	w, r := newWorld(t), newRoster()
	register := func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("a", 30*time.Millisecond), kopf.ID("a"))
		kopf.Daemon(reg, kexes, r.daemon("b", 0), kopf.ID("b"))
	}
	op := w.run(register)
	w.create(example("x"))
	for life := range 4 {
		r.until(t, "a x", 1, life+1)
		r.until(t, "b x", 1, life+1)
		op.stop()
		r.until(t, "a x", 0, life+1)
		op = w.run(register)
	}
	r.neverTwice(t)
	if n := r.count(r.all, "a x"); n > 5 {
		t.Errorf("%d runs in 5 lives", n)
	}
}

func TestThereIsOneOfEachDaemonThroughPauses(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("slow", 100*time.Millisecond), kopf.ID("slow"))
		kopf.Daemon(reg, kexes, r.daemon("quick", 0), kopf.ID("quick"))
	}, setup{settings: settings})
	w.create(example("x"))
	phases(t, client, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	for range 6 {
		// It is resumed while the slow one still ends.
		intend(t, client, inspect.IntentPause)
		r.until(t, "quick x", 0, 1)
		intend(t, client, inspect.IntentResume)
		r.until(t, "quick x", 1, 1)
	}
	intend(t, client, inspect.IntentPause)
	r.until(t, "slow x", 0, 1)
	r.until(t, "quick x", 0, 1)
	phases(t, client, "x", inspect.StateSettled, "slow=next", "quick=next")
	w.patch("x", tree{"spec": tree{"field": "changed while nobody looks"}})
	time.Sleep(50 * time.Millisecond) // nothing is to come of it
	r.until(t, "slow x", 0, 1)
	intend(t, client, inspect.IntentResume)
	phases(t, client, "x", inspect.StateSettled, "slow=alive", "quick=alive")
	r.neverTwice(t)
	op.stop()
	r.until(t, "slow x", 0, 1)
}

func TestNothingIsMissedHoweverShortAPauseIs(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	op := w.run(func(reg *kopf.Registry) {
		kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
			c.Patch.Set("status.seen", c.Body.Get("spec.field"))
			return nil
		}, kopf.ID("update"))
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"))
	}, setup{settings: settings})
	w.create(example("x"))
	r.until(t, "d x", 1, 1)
	for n := range 30 {
		value := fmt.Sprint(n)
		var both sync.WaitGroup
		both.Go(func() {
			for range 5 {
				intend(t, client, inspect.IntentPause)
				intend(t, client, inspect.IntentResume)
			}
		})
		w.patch("x", field(value))
		both.Wait()
		w.until("x", "is handled", func(o *kopf.Object) bool { return o.Get("status.seen") == value })
		r.until(t, "d x", 1, 1)
	}
	r.neverTwice(t)
	op.stop()
}

func TestThereIsOneOfEachDaemonHoweverFiltersFlap(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	w.run(func(reg *kopf.Registry) {
		// It takes longer to end than the label to change.
		kopf.Daemon(reg, kexes, r.daemon("d", 20*time.Millisecond), kopf.ID("d"), kopf.Labels{"on": "yes"},
			kopf.CancellationBackoff(time.Hour))
	}, setup{settings: settings})
	w.create(example("x"))
	phases(t, client, "x", inspect.StateIgnored, "d=filtered")
	for i := range 20 {
		on := any(nil)
		if i%2 == 0 {
			on = "yes"
		}
		w.patch("x", tree{"metadata": tree{"labels": tree{"on": on}}})
		if i%5 == 0 {
			time.Sleep(15 * time.Millisecond) // sometimes it comes that far
		}
	}
	w.patch("x", tree{"metadata": tree{"labels": tree{"on": "yes"}}})
	r.until(t, "d x", 1, 1)
	phases(t, client, "x", inspect.StateSettled, "d=alive")
	w.patch("x", tree{"metadata": tree{"labels": tree{"on": nil}}})
	r.until(t, "d x", 0, 1)
	phases(t, client, "x", inspect.StateIgnored, "d=filtered")
	r.neverTwice(t)
	w.until("x", "is not held any more", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestObjectsWithDaemonsAloneGetTheFinalizerAndNothingElse(t *testing.T) {
	w, r := newWorld(t), newRoster()
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"), kopf.Labels{"somelabel": "somevalue"})
		kopf.Timer(reg, kexes, func(context.Context, *kopf.TimerTick[kopf.Object]) error { return nil },
			kopf.ID("t"), kopf.Interval(time.Millisecond), kopf.Labels{"somelabel": "somevalue"})
	})
	w.create(example("x"))
	w.create(tree{"metadata": tree{"name": "foreign"}})
	r.until(t, "d x", 1, 1)
	o := w.untilHeld("x")
	op.journal.wait(t, "Timer 't' succeeded.", 10)
	if annotations := o.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("there are marks: %v", annotations)
	}
	if foreign := w.get("foreign"); foreign.Get("metadata.finalizers") != nil || foreign.Get("metadata.annotations") != nil {
		t.Error("an object that no handler is for is not left alone")
	}
	if n := len(op.journal.patches()); n != 1 {
		t.Errorf("%d requests: %v", n, op.journal.patches())
	}
	w.delete("x")
	w.untilGone("x")
	r.until(t, "d x", 0, 1)
}

func TestDeletionsWaitForSlowDaemons(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	release := make(chan struct{})
	op := w.run(func(reg *kopf.Registry) {
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
	}, setup{settings: settings})
	w.create(example("x"))
	phases(t, client, "x", inspect.StateSettled, "d=alive")
	w.untilHeld("x")
	w.delete("x")
	phases(t, client, "x", inspect.StateDeleting, "d=stopping")
	op.journal.wait(t, "Daemon 'd' is still exiting.", 1)
	w.patch("x", tree{"spec": tree{"field": "other"}}) // it is looked after again
	if o := w.get("x"); o == nil {
		t.Fatal("it is gone ahead of its daemon")
	}
	close(release)
	w.untilGone("x")
	op.journal.wait(t, "Daemon 'd' is cancelled.", 1)
	sent := false
	for _, e := range op.journal.all() {
		sent = sent || strings.Contains(e.String(), `"bye":"bye"`)
		if e.level >= slog.LevelWarn {
			t.Error(e)
		}
	}
	if !sent {
		t.Errorf("its last patch is not sent: %v", op.journal.patches())
	}
}

func TestDaemonsThatDoNotEndAreAbandoned(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	var ended atomic.Bool
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *run) error {
			<-release
			ended.Store(true)
			return nil
		}, kopf.ID("d"), kopf.CancellationBackoff(300*time.Millisecond), kopf.CancellationTimeout(50*time.Millisecond))
	})
	w.create(example("x"))
	op.journal.wait(t, "Daemon 'd' is invoked.", 1)
	w.untilHeld("x")
	w.delete("x")
	w.untilGone("x")
	if ended.Load() {
		t.Error("it has ended after all")
	}
	op.journal.wait(t, "Daemon 'd' is signalled to exit gracefully.", 1)
	op.journal.wait(t, "Daemon 'd' did not exit in time. Leaving it orphaned.", 1)
	close(release)
}

func TestForceDeletedObjectsTakeTheirDaemonsAlong(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("d", 50*time.Millisecond), kopf.ID("d"), kopf.CancellationBackoff(time.Minute))
	}, setup{settings: settings})
	w.create(example("x"))
	r.until(t, "d x", 1, 1)
	w.untilHeld("x")
	w.delete("x")
	w.patch("x", tree{"metadata": tree{"finalizers": nil}})
	w.untilGone("x")
	r.until(t, "d x", 0, 1)
	op.journal.wait(t, "Daemon 'd' has exited on request", 1)
	// Nobody remembers it.
	eventually(t, "the operator knows of nothing", func() bool {
		snapshot, err := client.Snapshot(t.Context())
		return err == nil && len(snapshot.Objects) == 0
	}, func() any { return op.journal.text() })
	w.create(example("x"))
	r.until(t, "d x", 1, 2)
	r.neverTwice(t)
}
