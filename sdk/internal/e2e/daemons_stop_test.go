package e2e

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestDaemon_EndsWithDeletedDefinition(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	own := ownResource(cluster)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, own.selector(), r.daemon("d", 10*time.Millisecond), kopf.ID("d"))
	})
	x := cluster.Create(own.of(example("x")))
	r.wait(cluster, "d x", 1, 1)
	waitHeld(x)
	definition(cluster, own).Delete()
	r.wait(cluster, "d x", 0, 1)
	op.WaitLog("Stopping the watch-stream for " + own.key())
	r.neverTwice(t)
}

func TestDaemon_ManyStopWithOperatorAtOnce(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("asked", 0), kopf.ID("asked"))
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			defer r.enter("cancelled " + d.Name)()
			<-ctx.Done()
			return context.Cause(ctx)
		}, kopf.ID("cancelled"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("ticking " + c.Name)()
			return kopf.Temporaryf(time.Hour, "later")
		}, kopf.ID("ticking"), kopf.Interval(time.Hour))
		kopf.Daemon(reg, kexes, r.daemon("delayed", 0), kopf.ID("delayed"), kopf.InitialDelay(time.Hour))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Hour }))
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		cluster.Create(example(name))
	}
	for _, name := range names {
		r.wait(cluster, "asked "+name, 1, 1)
		r.wait(cluster, "cancelled "+name, 1, 1)
		r.wait(cluster, "ticking "+name, 0, 1)
	}
	op.Stop() // which fails if it has to wait for the time to exit
	for who, n := range r.now {
		if n > 0 {
			t.Errorf("%s goes on", who)
		}
	}
	r.neverTwice(t)
}

func TestDaemon_OperatorStopsWithoutStuckOne(t *testing.T) {
	cluster := newCluster(t)
	release := make(chan struct{})
	done := make(chan struct{})
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer close(done)
			<-release
			d.Patch.Set("metadata.annotations.late", "late")
			return nil
		}, kopf.ID("d"))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = 100 * time.Millisecond }))
	x := cluster.Create(example("x"))
	op.WaitLog("Daemon 'd' is invoked.")
	waitHeld(x)
	op.Stop() // though the daemon still runs
	op.WaitLog("Daemon 'd' ignores that the operator stops; abandoning it")
	close(release)
	<-done
	op.WaitLog("Cannot send the patch of Daemon 'd'; discarding it")
	if o := x.Get(); o.Get("metadata.annotations.late") != nil {
		t.Error("an operator that has ended still writes")
	}
}

func TestDaemon_StartsAndEndsWithSelector(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	own := ownResource(cluster)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kopf.Selector{Category: cluster.Namespace}, r.daemon("d", 0), kopf.ID("d"))
		kopf.OnEvent(reg, own.selector(), func(context.Context, *event) error { return nil }, kopf.ID("seen"))
	})
	x := cluster.Create(own.of(example("x")))
	op.WaitLog("Handler 'seen' succeeded.")
	categorize(cluster, own, cluster.Namespace)
	op.WaitLog("Daemon 'd' is invoked.")
	x.WaitFor("it is blocked", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	categorize(cluster, own)
	r.wait(cluster, "d x", 0, 1)
	x.WaitFor("it is let go", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
}

func TestDaemon_DeletionWaitsForSlowOne(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
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
	x.Patch(field("other")) // the operator checks the daemon again
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

func TestDaemon_StuckOneIsAbandonedAfterTimeout(t *testing.T) {
	cluster := newCluster(t)
	release := make(chan struct{})
	var ended atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *run) error {
			<-release
			ended.Store(true)
			return nil
		}, kopf.ID("d"), kopf.Cancellation{Backoff: 300 * time.Millisecond, Timeout: 50 * time.Millisecond})
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

func TestDaemon_EndsWithForceDeletedObject(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	gone := make(chan struct{})
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("d " + d.Name)()
			<-d.Stopping()
			<-gone // otherwise the operator may remove the finalizer first
			return nil
		}, kopf.ID("d"), kopf.Cancellation{Backoff: time.Minute})
	})
	x := cluster.Create(example("x"))
	r.wait(cluster, "d x", 1, 1)
	waitHeld(x)
	x.Delete()
	x.Patch(tree{"metadata": tree{"finalizers": nil}})
	x.WaitGone()
	close(gone)
	r.wait(cluster, "d x", 0, 1)
	op.WaitLog("Daemon 'd' has exited on request")
	remembers(op, 0)
	cluster.Create(example("x"))
	r.wait(cluster, "d x", 1, 2)
	r.neverTwice(t)
}
