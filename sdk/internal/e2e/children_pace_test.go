package e2e

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChildren_WritesOfNewBuildArePaced(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	build := "one"
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"build": build}}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	})
	const parents = 40 // more than the burst of 20
	for i := range parents {
		cluster.Create(own.of(tree{"metadata": tree{"name": fmt.Sprintf("x%d", i)}}))
	}
	for i := range parents {
		cluster.Object("configmaps", fmt.Sprintf("x%d", i)).WaitValue("data.build", "one")
	}
	op.Stop()
	build = "two"
	mark := op.LogMark()
	op.Start()
	for i := range parents {
		cluster.Object("configmaps", fmt.Sprintf("x%d", i)).WaitValue("data.build", "two")
	}
	if waits := op.CountLogSince(mark, "Handler 'reconcile' waits: the write waits for the pace"); waits == 0 {
		t.Error("all children were changed at once")
	}
	if failed := op.CountLogSince(mark, "failed"); failed > 0 {
		t.Errorf("%d failures:\n%s", failed, op.Log())
	}
}
