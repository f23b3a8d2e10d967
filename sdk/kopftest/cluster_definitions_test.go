package kopftest

import (
	"strings"
	"testing"
	"time"
)

// gizmos are of no other test.
const gizmosCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.kopftest.kopf.dev, annotations: {note: kept}}
spec:
  scope: Namespaced
  group: kopftest.kopf.dev
  names: {kind: Gizmo, plural: gizmos, singular: gizmo}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

func TestDefinitions_DeletedByLastUser(t *testing.T) {
	cluster := New(t)
	cluster.lasting = true // as far as definitions are concerned
	definition := cluster.Apply(gizmosCRD)
	cluster.Apply(gizmosCRD)
	others := usedPrefix + "somebody"
	definition.Annotate(others, time.Now().UTC().Format(time.RFC3339))

	if err := giveBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	annotations, _ := definition.Get().Get("metadata.annotations").(map[string]any)
	if annotations[usedKey] != nil || annotations[others] == nil || annotations[madeKey] == nil || annotations["note"] != "kept" {
		t.Errorf("the marks are %v", annotations)
	}

	cluster.Apply(gizmosCRD)
	definition.Annotate(others, time.Now().Add(-2*staleMark).UTC().Format(time.RFC3339)) // it was killed
	if err := giveBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	definition.WaitGone()

	// The definition can be created again. Cleanup keeps a definition that precedes the tests.
	again := cluster.With(t)
	again.estate = &estate{client: cluster.client}
	again.Apply(gizmosCRD)
	cluster.Apply(gizmosCRD)
	if annotations, _ := definition.Get().Get("metadata.annotations").(map[string]any); len(annotations) != 1 {
		t.Errorf("it was there before, but has the marks %v", annotations)
	}
	if err := giveBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !definition.Exists() {
		t.Error("what was there before the tests is gone")
	}
}

func TestCleanup_DeletesObjectsInOtherNamespaces(t *testing.T) {
	outer := New(t)
	var left *Object
	t.Run("another test", func(t *testing.T) {
		cluster := New(t)
		left = cluster.Apply(strings.ReplaceAll(
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: left, namespace: NS, finalizers: [kopftest.kopf.dev/stuck]}}", "NS", outer.Namespace))
	})
	left.cluster = outer
	left.WaitGone()
}
