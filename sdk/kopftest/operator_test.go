package kopftest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOperator_WaitReadyAndWaitEnd(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	proceed := make(chan struct{})
	operator := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { <-proceed; return nil }, kopf.ID("startup"))
		kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
	})
	close(proceed)
	operator.WaitReady()
	operator.Stop()

	broken := errors.New("no database")
	operator = cluster.Launch(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { return broken }, kopf.ID("startup"), kopf.ErrorsPermanent)
	})
	if err := operator.WaitEnd(); !errors.Is(err, broken) {
		t.Errorf("it has ended with %v", err)
	}
	failure := failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.WaitReady()
	})
	wantAll(t, failure, "the operator is not running")
}

func TestRunError_ReturnsErrorOfTheStart(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	broken := errors.New("no database")
	startup := func(err error) func(r *kopf.Registry) {
		return func(r *kopf.Registry) {
			kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { return err }, kopf.ID("startup"), kopf.ErrorsPermanent)
			kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
		}
	}
	if err := cluster.RunError(startup(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the handler", err)
	}
	failure := failureOf(t, func(d testing.TB) { _ = cluster.With(d).RunError(startup(nil)) })
	wantAll(t, failure, "expected to fail at its start, but it is ready")
}

func TestWaitLogSince_IgnoresWhatWasBefore(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, widgets, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			e.Logger.Info("seen", "size", e.Object.Get("spec.size"))
			return nil
		}, kopf.ID("event"))
	})
	one := cluster.Apply(widget)
	operator.WaitLogSince(LogMark{}, "seen handler=event size=1")
	mark := operator.LogMark()
	one.Set("spec.size", 2)
	operator.WaitLogSince(mark, "seen handler=event size=2")
	if n, _ := operator.log.count(mark, "seen handler=event size=1"); n != 0 {
		t.Errorf("%d lines of before the mark count", n)
	}
}

func TestWaitHandled_NamespaceThatIsNotServedFailsAtOnce(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	other := cluster.CreateNamespace(cluster.Namespace + "-other")
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	})
	one := other.Apply(widget)
	began := time.Now()
	failure := failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.WaitHandled(one)
	})
	if took := time.Since(began); took > cluster.timeout/2 {
		t.Errorf("took %s", took)
	}
	wantAll(t, failure, "the operator does not serve its namespace "+other.Namespace+", only "+cluster.Namespace)
}

func TestOperator_PauseAndInspect(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.Daemon(r, widgets, func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"))
	})
	cluster.Apply(widget)
	daemonIs := func(phase inspect.HandlerPhase) func(*inspect.Snapshot) bool {
		return func(s *inspect.Snapshot) bool { return len(s.Objects) == 1 && s.Objects[0].Handlers[0].State == phase }
	}
	operator.WaitInspect("the daemon runs", daemonIs(inspect.PhaseAlive))
	operator.Pause()
	operator.WaitInspect("the daemon has ended", daemonIs(inspect.PhaseNext))
	operator.Resume()
	operator.WaitInspect("the daemon runs again", daemonIs(inspect.PhaseAlive))
	if snapshot, err := operator.Inspector().Snapshot(t.Context()); err != nil || len(snapshot.Handlers) != 1 {
		t.Errorf("the inspector says %+v, %v", snapshot, err)
	}
}

func TestOperator_Log(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, widgets, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			e.Logger.With("shelf", 7).Warn("seen", "type", e.Type)
			return nil
		}, kopf.ID("event"))
	})
	one := cluster.Apply(widget)
	operator.WaitLog("seen")
	one.Delete()
	operator.WaitLogs("seen", 2)
	if n := operator.CountLog("seen handler=event shelf=7 type=DELETED"); n != 1 {
		t.Errorf("%d lines tell of the deletion:\n%s", n, operator.Log())
	}
	entries := operator.LogEntries()
	i := slices.IndexFunc(entries, func(e LogEntry) bool { return e.Message == "seen" })
	if e := entries[i]; e.Level != slog.LevelWarn || e.Object != cluster.Namespace+"/one" || e.String() != "WARN seen handler=event shelf=7 type=ADDED" {
		t.Errorf("%v about %s", e, e.Object)
	}
}

func TestOperator_WithoutInspector(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	}, func(o *kopf.Operator) { o.Settings.Process.Inspector = "" })
	one := cluster.Apply(widget)
	operator.WaitLog("Creation is processed")
	failure := failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.WaitHandled(one)
	})
	wantAll(t, failure, "Widget one: waited until it is handled", "disable the inspector")
}
