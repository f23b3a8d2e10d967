package e2e

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestMetrics_Children(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			var all []metav1.Object
			for _, name := range kopf.GetOr(p.Object, "spec.names", []any{}) {
				all = append(all, &unstructured.Unstructured{Object: tree{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}, "data": tree{"field": "value"},
				}})
			}
			return p.Apply(ctx, all...)
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")}, kopf.ID("reconcile"))
	})
	key := own.plural + ".v1." + own.group
	const configMaps = "configmaps.v1"
	waitScraped(t, cluster, op, map[string]float64{"children " + configMaps + " ready": 0, "children " + configMaps + " failed": 0})

	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"names": []any{"a", "b"}}}))
	waitScraped(t, cluster, op, map[string]float64{
		"pass " + key + " complete object": 1,
		"apply " + configMaps + " created": 2, "children " + configMaps + " ready": 2,
	})
	cluster.Object("configmaps", "a").Patch(tree{"data": tree{"field": "other"}})
	waitScraped(t, cluster, op, map[string]float64{
		"pass " + key + " complete child": 1,
		"drift " + configMaps:             1, "apply " + configMaps + " reverted": 1, "apply " + configMaps + " unchanged": 1,
	})
	parent.Patch(tree{"spec": tree{"names": []any{"b"}}})
	waitScraped(t, cluster, op, map[string]float64{
		"pass " + key + " complete object": 2,
		"prune " + configMaps:              1, "children " + configMaps + " ready": 1, "children " + configMaps + " terminating": 0,
		"apply " + configMaps + " created": 2, "drift " + configMaps: 1,
	})
}
