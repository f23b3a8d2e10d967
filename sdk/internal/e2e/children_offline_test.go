package e2e

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Without a schema, the API server leaves the operator the map whose only field another client has taken.
func TestChildren_OnlyFieldOfAMapIsRepairedAfterAStart(t *testing.T) {
	cluster := newCluster(t)
	part := custom{group: cluster.Namespace + ".kopf.dev", plural: "parts", kind: "Part"}
	part.define(cluster)
	k := keepIn(cluster, tree{}, []kopf.Own{{Resource: part.selector()}}, func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{part.of(tree{"metadata": tree{"name": "a"}, "spec": tree{"value": "1"}})}
	})
	child := k.Object(part.name(), "a")
	k.Stop()
	child.Set("spec.value", "other")
	k.Start()
	child.WaitValue("spec.value", "1")
	k.WaitLog("Took a field of Part a back: spec.value")
	k.checkIdle(child)
}
