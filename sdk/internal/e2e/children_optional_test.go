package e2e

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChildren_OptionalKindIsLeftOutWhileItIsNotServed(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	part := custom{group: k.own.group, plural: "parts", kind: "Part", status: true}
	k.reconcile(append(owning("v1 configmaps"), kopf.Own{Resource: part.selector(), Optional: true}), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
		monitor := &unstructured.Unstructured{Object: part.of(tree{"spec": tree{"field": "value"}})}
		all := []metav1.Object{monitor}
		for _, o := range namedMaps(p) {
			all = append(all, &unstructured.Unstructured{Object: o})
		}
		if err := p.Apply(ctx, all...); err != nil {
			return err
		}
		return p.WaitReady(all...)
	})
	const left = "The cluster does not serve "
	waitPass := func(outcome inspect.PassOutcome, unserved ...string) {
		t.Helper()
		if pass := k.WaitPass(k.parent, outcome); !slices.Equal(pass.Unserved, unserved) {
			t.Errorf("the pass has left out %q, want %q", pass.Unserved, unserved)
		}
	}
	parts := part.group + "/v1 parts"
	k.parent = k.add("main", tree{"names": []any{"a", "b"}, "value": "1"})
	waitPass(inspect.PassComplete, parts)
	k.Object("configmaps", "a").WaitValue("data.value", "1")
	k.parent.Set("spec.names", []any{"a"})
	k.Object("configmaps", "b").WaitGone()
	k.settle(k.parent)
	k.checkIdle()
	if n := k.CountLog(left + parts); n != 1 {
		t.Errorf("%d lines about the missing kind", n)
	}

	defined := part.define(k.Cluster)
	child := k.Object(part.name(), "main")
	child.WaitValue("spec.field", "value")
	waitPass(inspect.PassWaiting)
	child.Set("spec.field", "other")
	child.WaitValue("spec.field", "value")

	defined.Delete() // the parent waits for the child
	defined.WaitGone()
	waitPass(inspect.PassComplete, parts)
	k.WaitLogs(left+parts, 2)
	k.checkIdle()

	part.define(k.Cluster)
	child.WaitValue("spec.field", "value")
	waitPass(inspect.PassWaiting)
	setStatus(child, ready("True"))
	waitPass(inspect.PassComplete)
	k.checkIdle()
}

func TestChildren_OptionalKindOfADeletedParent(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	part := custom{group: own.group, plural: "parts", kind: "Part"}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: part.of(tree{"metadata": tree{"name": "x"}})})
		}, kopf.Own{Resource: part.selector(), Optional: true, DeleteFirst: true})
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	op.WaitPass(parent, inspect.PassComplete)
	parent.Delete()
	parent.WaitGone()
}
