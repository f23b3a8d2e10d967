package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const machineDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.NAME}
spec:
  group: NAME
  scope: Namespaced
  names: {plural: machines, singular: machine, kind: Machine}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}, image: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

func TestChildren_ScaleOfCustomResourceStaysWithItsOwner(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	group := k.Namespace + ".machines.dev"
	k.Apply(strings.ReplaceAll(machineDefinition, "NAME", group))
	k.run(owning(group+"/v1 machines"), func(p *kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": group + "/v1", "kind": "Machine", "spec": tree{"replicas": 3, "image": kopf.GetOr(p.Object, "spec.image", "")}}}
	})
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"image": "v0"}}))
	k.Create(k.own.of(tree{"metadata": tree{"name": "probe"}}))
	k.settle(k.parent)
	d := edit(k, edited{version: group + "/v1", plural: "machines"}, "Machine")
	d.request(http.MethodPatch, "/scale", "application/merge-patch+json", tree{"spec": tree{"replicas": 7}})
	for i := range 10 {
		image := fmt.Sprint("v", i+1)
		k.parent.Set("spec.image", image)
		o := d.child.WaitValue("spec.image", image)
		if o.Get("spec.replicas") != int64(7) {
			t.Fatalf("image %d: %v replicas", i, o.Get("spec.replicas"))
		}
	}
	if generation := d.child.Get().Get("metadata.generation"); generation != int64(12) {
		t.Errorf("the generation is %v: a creation, a scaling and 10 changes of the image make 12", generation)
	}
	k.checkIdle(k.Object("machines."+group, "probe"))
	for _, line := range []string{"Took a field", "Left a field"} {
		if k.CountLog(line+" of Machine main") > 0 {
			t.Errorf("the log has %q", line)
		}
	}
}
