package e2e

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChildren_AreRepairedAfterTheirVersionWasRemoved(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	group := cluster.Namespace + ".versions.dev"
	definition := strings.ReplaceAll(versionedDefinition, "NAME", group)
	cluster.Apply(definition + strings.ReplaceAll(servedVersion, "VERSION", "v1"))
	version := group + "/v1"
	op := cluster.Run(func(r *kopf.Registry) {
		version := version
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": version, "kind": "Widget", "spec": tree{"a": "1"}}})
		}, kopf.Own{Resource: kopf.Resource(version, "widgets")})
	})
	op.WaitHandled(cluster.Create(own.of(tree{"metadata": tree{"name": "main"}})))
	op.Stop()
	version = group + "/v2"
	cluster.Apply(definition)
	mark := op.LogMark()
	op.Start()
	op.WaitLogSince(mark, "Handler 'reconcile' succeeded.") // the API server serves the new version only some time later
	child := cluster.Object("widgets."+group, "main")
	child.Set("spec.a", "9")
	child.WaitValue("spec.a", "1")
}

const versionedDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAME}
spec:
  group: NAME
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const servedVersion = `  - {name: VERSION, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
