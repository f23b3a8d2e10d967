package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

const pausedBy = "kopf.dev/paused"

func TestObjectPause_HandledOnceAfterwards(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	var calls calls
	reasons := make(chan kopf.StopReason, 10)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnCreate(reg, kexes, calls.does("create"), kopf.ID("create"))
		kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
			calls.add("update " + c.Body.Get("spec.field").(string))
			return nil
		}, kopf.ID("update"))
		kopf.OnDelete(reg, kexes, calls.does("delete"), kopf.ID("delete"))
		kopf.OnEvent(reg, kexes, func(_ context.Context, e *event) error {
			paused := e.Object.Get(kopf.PathOf("metadata", "annotations", pausedBy)) != nil
			if paused && e.Object.Get("metadata.deletionTimestamp") == nil {
				calls.add("event while paused")
			}
			return nil
		}, kopf.ID("event"))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("d " + d.Name)()
			<-d.Stopping()
			reasons <- d.StopReason()
			return nil
		}, kopf.ID("d"))
	})
	x := cluster.Create(example("x"))
	r.wait(cluster, "d x", 1, 1)
	waitHandled(x)
	calls.are(t, "create")

	x.Annotate(pausedBy, "an incident")
	r.wait(cluster, "d x", 0, 1)
	if why := <-reasons; why != kopf.StopOperatorPausing {
		t.Errorf("it is told %v", why)
	}
	paused := func(s *inspect.Snapshot) bool {
		return len(s.Objects) == 1 && s.Objects[0].State == inspect.StatePaused && s.Objects[0].Paused.Reason == "an incident"
	}
	snapshot := op.WaitInspect("it is paused", paused)
	ref := snapshot.Objects[0].Ref
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &ref}); err == nil || !strings.Contains(err.Error(), pausedBy) {
		t.Errorf("a paused object cannot be retried: %v", err)
	}
	x.Patch(field("1"))
	version := x.Get().Get("metadata.resourceVersion")
	x.Patch(field("2"))
	op.WaitInspect("it is seen", func(s *inspect.Snapshot) bool {
		return len(s.Objects) == 1 && s.Objects[0].ResourceVersion != version && s.Objects[0].State == inspect.StatePaused
	})
	calls.are(t, "create")

	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentPauseObject, Object: &ref}); err != nil {
		t.Fatal(err)
	}
	calls.wait(cluster, "update 2", 1)
	r.wait(cluster, "d x", 1, 2)
	phases(op, "x", inspect.StateSettled, "update=done", "create=other cause", "delete=other cause", "event=done", "d=alive")
	calls.are(t, "create", "update 2")

	// To pause and to resume are no changes by themselves.
	for range 3 {
		mark := op.LogMark()
		if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentPauseObject, Object: &ref, Value: "again"}); err != nil {
			t.Fatal(err)
		}
		op.WaitLogSince(mark, "Handling of the object is paused")
		x.Patch(tree{"metadata": tree{"annotations": tree{pausedBy: nil}}})
		r.wait(cluster, "d x", 1, 2)
	}
	x.Annotate(pausedBy, "for good")
	r.wait(cluster, "d x", 0, 2)
	calls.are(t, "create", "update 2")
	x.Delete()
	x.WaitGone()
	calls.are(t, "create", "update 2", "delete")
	r.neverTwice(t)
	op.Stop()
}

func TestObjectPause_DelayedHandlersWait(t *testing.T) {
	cluster := newCluster(t)
	var calls calls
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnCreate(reg, kexes, calls.fails("create", errors.New("no luck"), errors.New("no luck")), kopf.ID("create"), kopf.RetryDelay(time.Second))
	})
	x := cluster.Create(example("x"))
	calls.wait(cluster, "create", 1)
	x.Annotate(pausedBy, "")
	op.WaitInspect("it is paused", func(s *inspect.Snapshot) bool {
		return len(s.Objects) == 1 && s.Objects[0].State == inspect.StatePaused
	})
	before := calls.count("create")
	op.Restart() // an operator that starts does not handle a paused object either
	op.WaitInspect("it is paused", func(s *inspect.Snapshot) bool {
		return len(s.Objects) == 1 && s.Objects[0].State == inspect.StatePaused
	})
	if n := calls.count("create"); n != before {
		t.Errorf("called %d times while paused", n-before)
	}
	x.Patch(tree{"metadata": tree{"annotations": tree{pausedBy: "false"}}})
	calls.wait(cluster, "create", 3)
	waitHandled(x)
	if n := calls.count("create"); n != 3 {
		t.Errorf("called %d times", n)
	}
	op.Stop()
}
