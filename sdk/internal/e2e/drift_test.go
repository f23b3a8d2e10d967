package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// mistyped is a type whose fields the resource of the test has, but for "spec.siez" at first.
type mistyped struct {
	Spec struct {
		Size string `json:"siez"`
	} `json:"spec"`
}

const sizesDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sizes.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Size, plural: sizes, singular: size}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: string}, FIELD: {type: string}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

func TestDrift_FieldThatSchemaLacksIsToldUntilItHasIt(t *testing.T) {
	cluster := newCluster(t)
	group := cluster.Namespace + ".kopf.dev"
	define := func(field string) {
		cluster.Apply(strings.NewReplacer("GROUP", group, "FIELD", field).Replace(sizesDefinition))
	}
	define("other")
	sizes := kopf.Resource(group+"/v1", "sizes")
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, sizes, func(context.Context, *kopf.Change[mistyped]) error { return nil }, kopf.ID("create"))
		kopf.OnUpdate(r, sizes, func(context.Context, *kopf.Change[mistyped]) error { return nil }, kopf.ID("update"), kopf.Field("spec.size"))
		kopf.OnField(r, sizes, "spec", func(context.Context, *kopf.FieldChange[struct {
			Size  string `json:"size"`
			Color string `json:"color"`
		}]) error {
			return nil
		}, kopf.ID("recolor"))
		kopf.OnCreate(r, kexes, func(context.Context, *kopf.Change[mistyped]) error { return nil }, kopf.ID("open"))
		kopf.OnEvent(r, sizes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("untyped"))
	})
	waitDrift(op, "spec.color by recolor/spec", "spec.siez by create,update/spec.size")
	op.WaitLog("spec.siez is a field of the Go type e2e.mistyped, but not of the schema of sizes.v1." + group + ": it is always empty. Used by create, update/spec.size")

	define("siez")
	waitDrift(op, "spec.color by recolor/spec")
	if n := op.CountLog("spec.color is a field of"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
}

// waitDrift waits until the inspector has the drift, as "field by handlers".
func waitDrift(op *kopftest.Operator, want ...string) {
	op.T().Helper()
	op.WaitInspect("the drift is "+strings.Join(want, "; "), func(snapshot *inspect.Snapshot) bool {
		var got []string
		for _, res := range snapshot.Served {
			for _, d := range res.Drift {
				got = append(got, d.Field+" by "+strings.Join(d.Handlers, ","))
			}
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}
