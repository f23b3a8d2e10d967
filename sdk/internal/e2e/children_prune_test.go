package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// ending is the way in which a pass of the pruner ends.
type ending int32

const (
	appliesBoth ending = iota
	appliesOne
	waitsAfterOne
	failsAfterOne
	givesUpAfterOne
	appliesNothing
	appliesNone // calls Apply without objects
)

// pruner keeps two config maps of each object, NAME-a and NAME-b, as far as its ending says; of an object whose field is "pruned", only
// the first.
type pruner struct {
	own    custom
	ending atomic.Int32
	keep   bool
}

func (p *pruner) register(r *kopf.Registry) {
	kopf.OnReconcile(r, p.own.selector(), p.reconcile, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), Keep: p.keep})
}

func (p *pruner) reconcile(ctx context.Context, pass *kopf.Pass[kopf.Object]) error {
	child := func(suffix string) metav1.Object {
		return &unstructured.Unstructured{Object: tree{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": pass.Name + "-" + suffix},
			"data": tree{"field": kopf.GetOr(pass.Body, "spec.field", "")},
		}}
	}
	how := ending(p.ending.Load())
	if kopf.GetOr(pass.Body, "spec.field", "") == "pruned" {
		how = appliesOne
	}
	switch how {
	case appliesNothing:
		return nil
	case appliesNone:
		return pass.Apply(ctx)
	case appliesBoth:
		return pass.Apply(ctx, child("a"), child("b"))
	}
	if err := pass.Apply(ctx, child("a")); err != nil {
		return err
	}
	switch how {
	case waitsAfterOne:
		return kopf.Waitf(0, "more is to come")
	case failsAfterOne:
		return kopf.Temporaryf(0, "not now")
	case givesUpAfterOne:
		return kopf.PermanentError{Err: errors.New("never")}
	}
	return nil
}

// pass changes the parent, and waits until a pass has ended in a way.
func (p *pruner) pass(op *kopftest.Operator, parent *kopftest.Object, how ending, field, line string) {
	op.T().Helper()
	p.ending.Store(int32(how))
	mark := op.LogMark()
	parent.Set("spec.field", field)
	op.WaitLogSince(mark, line)
}

func TestChildren_OnlyCompletePassPrunes(t *testing.T) {
	cluster := newCluster(t)
	p := &pruner{own: ownResource(cluster)}
	op := cluster.Run(p.register)
	parent := cluster.Create(p.own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "0"}}))
	a, b := cluster.Object("configmaps", "x-a"), cluster.Object("configmaps", "x-b")
	b.WaitValue("data.field", "0")

	for i, incomplete := range []struct {
		how  ending
		line string
	}{
		{waitsAfterOne, "Handler 'reconcile' waits: more is to come"},
		{failsAfterOne, "Handler 'reconcile' failed temporarily: not now"},
		{givesUpAfterOne, "Handler 'reconcile' failed permanently: never"},
		{appliesNothing, "Handler 'reconcile' succeeded."},
	} {
		p.pass(op, parent, incomplete.how, fmt.Sprint(i+1), incomplete.line)
		if !b.Exists() {
			t.Fatalf("ending %d: the other child was pruned", incomplete.how)
		}
	}
	p.pass(op, parent, appliesOne, "one", "Pruned ConfigMap x-b")
	b.WaitGone()
	a.WaitValue("data.field", "one")
	p.pass(op, parent, appliesNone, "none", "Pruned ConfigMap x-a")
	a.WaitGone()
	if n := op.CountLog("Pruned"); n != 2 {
		t.Errorf("%d children were pruned, want 2", n)
	}
}

func TestChildren_CopiesAndKeptOnesAreNotPruned(t *testing.T) {
	cluster := newCluster(t)
	p := &pruner{own: ownResource(cluster)}
	op := cluster.Run(p.register)
	parent := cluster.Create(p.own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "0"}}))
	child := cluster.Object("configmaps", "x-a")
	child.WaitValue("data.field", "0")
	labels, _ := child.Get().Get("metadata.labels").(tree)
	annotations, _ := child.Get().Get("metadata.annotations").(tree)
	copied := cluster.Create(tree{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": tree{"name": "copy", "labels": labels, "annotations": annotations, "ownerReferences": child.Get().Get("metadata.ownerReferences")},
	})
	p.pass(op, parent, appliesOne, "1", "Pruned ConfigMap x-b")
	cluster.Object("configmaps", "x-b").WaitGone()
	if !copied.Exists() {
		t.Error("the copy was pruned")
	}

	kept := &pruner{own: custom{group: p.own.group, plural: "keepers", kind: "Keeper"}, keep: true}
	kept.own.define(cluster)
	keeper := cluster.Run(kept.register)
	owner := cluster.Create(kept.own.of(tree{"metadata": tree{"name": "k"}, "spec": tree{"field": "0"}}))
	cluster.Object("configmaps", "k-b").WaitValue("data.field", "0")
	kept.pass(keeper, owner, appliesOne, "1", "Handler 'reconcile' succeeded.")
	owner.Delete()
	owner.WaitGone()
	for _, name := range []string{"k-a", "k-b"} {
		if !cluster.Object("configmaps", name).Exists() {
			t.Errorf("%s was deleted", name)
		}
	}
}

func TestChildren_BrakeStopsPruningAfterStart(t *testing.T) {
	cluster := newCluster(t)
	p := &pruner{own: ownResource(cluster)}
	op := cluster.Run(p.register)
	const parents, allowed = 14, 10
	owners := make([]*kopftest.Object, parents)
	for i := range parents {
		owners[i] = cluster.Create(p.own.of(tree{"metadata": tree{"name": fmt.Sprintf("x%d", i)}, "spec": tree{"field": "0"}}))
	}
	for _, owner := range owners {
		for _, child := range []string{owner.Name + "-a", owner.Name + "-b"} {
			cluster.Object("configmaps", child).WaitValue("metadata.name", child)
		}
	}
	op.Stop()
	p.ending.Store(int32(appliesOne)) // the bad release
	mark := op.LogMark()
	op.Start()
	op.WaitLogSince(mark, "Stopped the deletion of configmaps: 10 were deleted within 10 minutes, although their parents have not changed since the start.")
	cluster.WaitUntil("each parent had its pass", func() bool {
		return op.CountLogSince(mark, "Handler 'reconcile' succeeded.") >= parents
	})
	var left []*kopftest.Object
	for _, owner := range owners {
		if cluster.Object("configmaps", owner.Name+"-b").Exists() {
			left = append(left, owner)
		}
	}
	if pruned := op.CountLogSince(mark, "Pruned"); pruned != allowed || len(left) != parents-allowed {
		t.Fatalf("%d children were pruned and %d are left, want %d and %d", pruned, len(left), allowed, parents-allowed)
	}
	if n := op.CountLogSince(mark, "Stopped the deletion"); n != 1 {
		t.Errorf("the brake was reported %d times", n)
	}
	if a := alarms(op, inspect.AlarmBrake, 1); a.Count != len(left) || a.Resource != "configmaps.v1" || a.Object.Resource != p.own.key() {
		t.Errorf("%+v", a)
	}
	left[0].Set("spec.field", "1") // a change by a user continues
	cluster.Object("configmaps", left[0].Name+"-b").WaitGone()
	do := func(in inspect.Intent) {
		t.Helper()
		if err := op.Inspector().Do(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	one := refOf(op, left[1].Name)
	do(inspect.Intent{Kind: inspect.IntentRetry, Object: &one}) // so does a request about one object
	cluster.Object("configmaps", left[1].Name+"-b").WaitGone()
	op.WaitInspect("the others are held", func(s *inspect.Snapshot) bool {
		return slices.ContainsFunc(s.Operator.Alarms, func(a inspect.Alarm) bool { return a.Kind == inspect.AlarmBrake && a.Count == len(left)-2 })
	})
	do(inspect.Intent{Kind: inspect.IntentUnbrake, Value: p.own.key()}) // and one about all of them
	for _, owner := range left {
		cluster.Object("configmaps", owner.Name+"-b").WaitGone()
	}
	alarms(op, inspect.AlarmBrake, 0)
}
