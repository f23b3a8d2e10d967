package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	volumes     = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	migrations  = schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: "v1", Resource: "storageversionmigrations"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func object(t *testing.T, manifest string, args ...any) *unstructured.Unstructured {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(fmt.Appendf(nil, manifest, args...), &o.Object); err != nil {
		t.Fatal(err)
	}
	return &o
}

func (c *cluster) create(t *testing.T, gvr schema.GroupVersionResource, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := c.client.Resource(gvr).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return created
}

func (c *cluster) get(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := c.client.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("getting %s %s: %v", gvr.Resource, name, err)
	}
	return o
}

func (c *cluster) delete(t *testing.T, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	if err := c.client.Resource(gvr).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatalf("deleting %s %s: %v", gvr.Resource, name, err)
	}
}

// gone returns a condition for eventually: the object is deleted.
func (c *cluster) gone(gvr schema.GroupVersionResource, namespace, name string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, err := c.client.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	}
}

// podPhases counts the pods of a namespace by phase.
func (c *cluster) podPhases(ctx context.Context, namespace string) (map[string]int, error) {
	list, err := c.client.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	phases := map[string]int{}
	for _, p := range list.Items {
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		phases[phase]++
	}
	return phases, nil
}

func (c *cluster) namespace(t *testing.T, name string) string {
	t.Helper()
	c.create(t, namespaces, object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	// Pods need the service account, which a controller creates.
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	eventually(t, "there is the default service account", func(ctx context.Context) (bool, error) {
		_, err := c.client.Resource(accounts).Namespace(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	return name
}

// define creates a CRD and waits until its objects can be created.
func (c *cluster) define(t *testing.T, plural, kind string) schema.GroupVersionResource {
	t.Helper()
	c.create(t, crds, object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %[1]s, kind: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, plural, kind))
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}
	eventually(t, plural+" are served", func(ctx context.Context) (bool, error) {
		_, err := c.client.Resource(gvr).List(ctx, metav1.ListOptions{})
		return err == nil, ignoreNotFound(err)
	})
	return gvr
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
