package kopftest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const oneWidget = "{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: one, labels: {a: b}}, spec: {size: 1}}"

// follow copies the size of the object into its status, every minute.
func follow(ctx context.Context, d *kopf.DaemonRun[sized]) error {
	for {
		d.Patch.Set("status.size", d.Object().Spec.Size)
		if err := d.Apply(ctx); err != nil {
			d.Logger.Warn("not applied", "error", err)
		}
		if !d.Sleep(time.Minute) {
			kopf.Edit(d.Patch, func(s *sized) { s.Status.Phase = "Left" })
			d.Result = "done"
			return nil
		}
	}
}

func TestDaemon_TakesTurnsWithTest(t *testing.T) {
	run := Daemon[sized](t, oneWidget)
	run.Start(t.Context(), follow)
	if pause := run.NextSleep(); pause != time.Minute {
		t.Errorf("it sleeps for %s", pause)
	}
	run.Set("spec.size", 2)
	if size := run.Object().Get("status.size"); size != int64(1) {
		t.Errorf("it does not sleep, but has seen %v", size)
	}
	run.NextSleep()
	if size := run.Object().Get("status.size"); size != int64(2) {
		t.Errorf("it has slept, but has seen %v", size)
	}
	run.Remove("spec.size")
	run.NextSleep()
	if size := run.Object().Get("status.size"); size != int64(0) {
		t.Errorf("the size is removed, but it has seen %v", size)
	}
	if err := run.Stop(kopf.StopResourceDeleted); err != nil {
		t.Error(err)
	}
	if phase := run.Object().Get("status.phase"); phase != "Left" || run.Request.Result != "done" || run.Request.StopReason() != kopf.StopResourceDeleted {
		t.Errorf("it has left the phase %v and the result %v", phase, run.Request.Result)
	}
	want := []map[string]any{
		{"status": map[string]any{"size": int64(1)}}, {"status": map[string]any{"size": int64(2)}},
		{"status": map[string]any{"size": int64(0)}}, {"status": map[string]any{"phase": "Left"}},
	}
	if got := run.Patches(); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestDaemon_TimePassesInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := Daemon[sized](t, oneWidget)
		start := time.Now()
		run.Start(t.Context(), follow)
		time.Sleep(150 * time.Second)
		run.Set("spec.size", 2)
		synctest.Wait()
		if n := len(run.Patches()); n != 3 { // at once, after one minute, and after two
			t.Errorf("%d patches", n)
		}
		run.NextSleep() // the third sleep, which has not ended
		run.NextSleep()
		if at := time.Since(start); at != 3*time.Minute || run.Object().Get("status.size") != int64(2) {
			t.Errorf("after %s, it has seen %v", at, run.Object().Get("status.size"))
		}
		if err := run.Stop(kopf.StopOperatorExiting); err != nil {
			t.Error(err)
		}
	})
}

func TestDaemon_WaitInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := Daemon[kopf.Object](t, oneWidget)
		start := time.Now()
		run.Start(t.Context(), func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			for range 5 {
				d.Sleep(time.Hour)
			}
			return errors.New("enough")
		})
		if err := run.Wait(); err == nil || err.Error() != "enough" || time.Since(start) != 5*time.Hour {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestDaemon_WaitsForAnythingInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := Daemon[sized](t, oneWidget)
		run.Start(t.Context(), func(ctx context.Context, d *kopf.DaemonRun[sized]) error {
			for {
				newer := d.Changed()
				d.Patch.Set("status.size", d.Object().Spec.Size)
				d.Patch.Set("status.label", d.Labels()["a"])
				select {
				case <-newer:
				case <-d.Stopping():
					<-ctx.Done()
					return context.Cause(ctx)
				}
			}
		})
		synctest.Wait()
		run.Replace("{metadata: {name: one, labels: {a: c}}, spec: {size: 7}}")
		synctest.Wait()
		want := map[string]any{"status": map[string]any{"size": int64(7), "label": "c"}}
		if got := Changes(t, run.Request.Patch); !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
		run.Signal(kopf.StopFiltersMismatch)
		synctest.Wait()
		if len(run.Patches()) > 0 {
			t.Error("it has not waited for the end of its context")
		}
		err := run.Stop(kopf.StopResourceDeleted)
		if err != kopf.StopFiltersMismatch|kopf.StopResourceDeleted { //nolint:errorlint // it is the cause itself
			t.Errorf("the reason is %v", err)
		}
	})
}

func TestDaemon_CanBeRetried(t *testing.T) {
	run := Daemon[kopf.Object](t, oneWidget)
	daemon := func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
		if d.Sleep(time.Second); d.Retry == 0 {
			return kopf.Temporaryf(time.Second, "not yet")
		}
		d.Patch.Set("status.ready", true)
		return nil
	}
	run.Start(t.Context(), daemon)
	if run.NextSleep(); run.Wait() == nil {
		t.Error("the first attempt is no failure")
	}
	run.Request.Retry = 1
	run.Start(t.Context(), daemon)
	run.NextSleep()
	if err := run.Wait(); err != nil || run.Object().Get("status.ready") != true {
		t.Errorf("%v; %v", err, run.Object().Get("status"))
	}
}

func TestDaemon_DirectCallIsToldToStop(t *testing.T) {
	run := Daemon[sized](t, oneWidget)
	if err := follow(t.Context(), run.Request); err != nil {
		t.Error(err)
	}
	if phase := Patched(t, run.Request.Patch).Get("status.phase"); phase != "Left" || len(run.Patches()) != 1 {
		t.Errorf("it has left the phase %v and applied %v", phase, run.Patches())
	}
}

func TestDaemon_TransformAppliesToNewestObject(t *testing.T) {
	run := Daemon[kopf.Object](t, "{metadata: {name: one}, spec: {list: [a]}}")
	type listed struct {
		Spec struct {
			List []string `json:"list"`
		} `json:"spec"`
	}
	run.Start(t.Context(), func(ctx context.Context, d *kopf.DaemonRun[kopf.Object]) error {
		kopf.Transform(d.Patch, func(l *listed) { l.Spec.List = append(l.Spec.List, "c") })
		d.Sleep(time.Second)
		return d.Apply(ctx)
	})
	run.NextSleep()
	run.Set("spec.list", []string{"a", "b"})
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
	if list := run.Object().Get("spec.list"); !cmp.Equal(list, []any{"a", "b", "c"}) {
		t.Errorf("%v", list)
	}
}

func TestDaemon_RefusedPatchIsKept(t *testing.T) {
	run := Daemon[sized](t, oneWidget)
	refusal := errors.New("the cluster is away")
	run.RefusePatch(refusal)
	run.Start(t.Context(), func(ctx context.Context, d *kopf.DaemonRun[sized]) error {
		d.Patch.Set("status.first", true)
		if err := d.Apply(ctx); !errors.Is(err, refusal) {
			return fmt.Errorf("the refusal is %w", err)
		}
		d.Patch.Set("status.second", true)
		return d.Apply(ctx)
	})
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
	want := []map[string]any{{"status": map[string]any{"first": true, "second": true}}}
	if got := run.Patches(); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestDaemon_UnexpectedBehaviourFailsTest(t *testing.T) {
	const forGood = "it waits for something else"
	for name, c := range map[string]struct {
		daemon func(context.Context, *kopf.DaemonRun[sized]) error
		drive  func(*DaemonRun[sized])
		want   []string
	}{
		"it returns": {
			func(context.Context, *kopf.DaemonRun[sized]) error { return errors.New("no time to sleep") },
			func(run *DaemonRun[sized]) { run.NextSleep() },
			[]string{"waited until the daemon sleeps, but it has returned", "no time to sleep"},
		},
		"it sleeps": {
			follow,
			func(run *DaemonRun[sized]) { _ = run.Wait() },
			[]string{"waited until the daemon returns, but it sleeps, for 1m0s", "end it with Stop"},
		},
		forGood: {
			func(ctx context.Context, _ *kopf.DaemonRun[sized]) error { <-ctx.Done(); return nil },
			func(run *DaemonRun[sized]) { run.NextSleep() },
			[]string{"waited until the daemon sleeps: this did not happen within", "chan receive", "daemon_test.go:"},
		},
		"it panics": {
			func(context.Context, *kopf.DaemonRun[sized]) error { panic("oops") },
			func(run *DaemonRun[sized]) { run.NextSleep() },
			[]string{"the daemon has panicked: oops", "daemon_test.go:"},
		},
		"it leaves a patch that cannot be applied": {
			func(_ context.Context, d *kopf.DaemonRun[sized]) error {
				kopf.Transform(d.Patch, func(m *map[string]func()) { *m = map[string]func(){"f": func() {}} })
				return nil
			},
			func(run *DaemonRun[sized]) { _ = run.Wait() },
			[]string{"the patch that the daemon has left cannot be applied"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == forGood {
				t.Setenv(timeoutVar, "50ms")
			}
			failure := failureOf(t, func(d testing.TB) {
				run := Daemon[sized](d, oneWidget)
				run.Start(d.Context(), c.daemon)
				c.drive(run)
			})
			wantAll(t, failure, c.want...)
		})
	}
}

func TestDaemon_NotStartedFailsTest(t *testing.T) {
	failure := failureOf(t, func(d testing.TB) { Daemon[sized](d, oneWidget).NextSleep() })
	wantAll(t, failure, "the daemon is not started")
}

func TestDaemon_SeesLastVersionThatDecodes(t *testing.T) {
	run := Daemon[sized](t, oneWidget)
	run.Start(t.Context(), follow)
	run.NextSleep()
	run.Set("spec.size", "big")
	run.NextSleep()
	if size := run.Object().Get("status.size"); size != int64(1) {
		t.Errorf("it has seen %v", size)
	}
	run.Set("spec.size", 3)
	run.NextSleep()
	if size := run.Object().Get("status.size"); size != int64(3) {
		t.Errorf("it has seen %v", size)
	}
}
