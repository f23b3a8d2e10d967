package e2e

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChildren_KindThatVanishesAndReturns(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	part := custom{group: own.group, plural: "parts", kind: "Part"}
	defined := part.define(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: part.of(tree{"spec": tree{"field": kopf.GetOr(p.Body, "spec.field", "")}})})
		}, kopf.Own{Resource: part.selector()})
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "0"}}))
	cluster.Object(part.name(), "x").WaitValue("spec.field", "0")

	mark := op.LogMark()
	defined.Delete()
	defined.WaitGone()
	parent.Set("spec.field", "1")
	op.WaitLogSince(mark, "Handler 'reconcile' waits: ")
	part.define(cluster)
	cluster.Object(part.name(), "x").WaitValue("spec.field", "1")
	for _, e := range op.LogEntries() {
		if strings.Contains(e.Message, "failed permanently") {
			t.Error(e.Message)
		}
	}
}

func TestChildren_UndeclaredKindIsRefused(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx,
				&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap"}},
				&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "Secret"}},
				&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap"}},
				&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "y", "namespace": "other"}}},
				&unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"generateName": "z-"}}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	})
	cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	op.WaitLog("Handler 'reconcile' failed permanently: ")
	for _, problem := range []string{
		"apply Secret of v1: the kind is not declared", "apply ConfigMap x: two objects have this name",
		"it is in namespace other, but its parent is in " + cluster.Namespace, "metadata.generateName",
	} {
		if op.CountLog(problem) == 0 {
			t.Errorf("the log does not say %q", problem)
		}
	}
	if cluster.Object("configmaps", "x").Exists() {
		t.Error("a child was applied although others are wrong")
	}
}
