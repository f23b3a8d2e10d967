package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestStartOver_ObjectIsHandledAsNew(t *testing.T) {
	cluster := newCluster(t)
	var calls breakable
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnCreate(reg, kexes, calls.handler("create"), kopf.ID("create"))
		kopf.OnCreate(reg, kexes, calls.does("also"), kopf.ID("also"))
		kopf.OnUpdate(reg, kexes, calls.does("update"), kopf.ID("update"))
		kopf.OnDelete(reg, kexes, calls.does("delete"), kopf.ID("delete"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	snapshot := op.WaitInspect("it has failed", func(s *inspect.Snapshot) bool {
		return len(s.Objects) == 1 && s.Objects[0].State == inspect.StateFailed
	})
	if finalizer := snapshot.Operator.Finalizer; finalizer != "kopf.zalando.org/KopfFinalizerMarker" {
		t.Errorf("the operator tells the finalizer %q", finalizer)
	}
	ref := snapshot.Objects[0].Ref
	startOver := func(ref inspect.Ref) error {
		return op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentStartOver, Object: &ref})
	}
	calls.mended.Store(true)
	if err := startOver(ref); err != nil {
		t.Fatal(err)
	}
	calls.wait(cluster, "also", 2) // those that have succeeded are called again, too
	calls.wait(cluster, "create", 2)
	phases(op, "x", inspect.StateSettled, "create=done", "also=done", "update=other cause", "delete=other cause")
	x.Patch(field("1"))
	calls.wait(cluster, "update", 1)
	waitHandled(x)

	other := ref
	other.UID = "another"
	if err := startOver(other); err == nil || !strings.Contains(err.Error(), "x was deleted") {
		t.Errorf("another object of the name: %v", err)
	}
	if err := startOver(inspect.Ref{Resource: "none.v1", Name: "y"}); err == nil || !strings.Contains(err.Error(), "y is unknown to the operator") {
		t.Errorf("an unknown resource: %v", err)
	}
	op.Stop()
}

func TestStartOver_ComesAfterRunningHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	release := make(chan struct{})
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnCreate(reg, kexes, c.does("create"), kopf.ID("create"))
		kopf.OnUpdate(reg, kexes, func(context.Context, *change) error {
			c.add("update")
			<-release
			return nil
		}, kopf.ID("update"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	c.wait(cluster, "update", 1)
	snapshot := op.WaitInspect("it is known", func(s *inspect.Snapshot) bool { return len(s.Objects) == 1 })
	ref := snapshot.Objects[0].Ref
	// The answer does not wait for the handler, whose outcome is recorded first.
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentStartOver, Object: &ref}); err != nil {
		t.Fatal(err)
	}
	close(release)
	c.wait(cluster, "create", 2)
	waitHandled(x)
	op.Stop()
	c.are(t, "create", "update", "create")
}
