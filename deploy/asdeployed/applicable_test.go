package asdeployed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// expectApplicable fails the test unless the API server accepts all manifests of the example, as YAML and as JSON, both in
// a dry run with strict field validation and when they are applied.
func (e *example) expectApplicable(t *testing.T, served ...string) {
	t.Helper()
	o := manifests.Options{Name: "applied", Image: "registry.example.com/applied:v1", Served: served, Operators: []inspect.Description{e.operator}}
	if e.operator.Leases.Name != "" && e.operator.Webhooks != "" {
		o.Certificate = "certificate"
	}
	m, err := manifests.New(o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	var found [][]apply.Manifest
	for name, text := range map[string]string{"all.yaml": m.YAML(), "all.json": string(body)} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := apply.Read([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, read)
	}
	if len(found[0]) != len(found[1]) {
		t.Errorf("YAML and JSON have %d and %d objects", len(found[0]), len(found[1]))
	}
	client, err := dynamic.NewForConfig(e.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range slices.Concat(found...) {
		gvk := one.Object.GroupVersionKind()
		resource := gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
		if _, err := client.Resource(resource).Namespace(one.Object.GetNamespace()).Create(t.Context(), one.Object, options); err != nil {
			t.Errorf("a dry run of %s %s: %v", gvk.Kind, one.Object.GetName(), err)
		}
	}
	for _, one := range found[0] {
		if one.Object.GetKind() == "Deployment" { // other examples handle pods
			if err := unstructured.SetNestedField(one.Object.Object, int64(0), "spec", "replicas"); err != nil {
				t.Fatal(err)
			}
		}
	}
	applied, err := apply.All(t.Context(), e.config, found[0], apply.Options{})
	if err != nil {
		t.Error(err)
	}
	for _, o := range applied {
		if err := client.Resource(o.Resource).Namespace(o.Namespace).Delete(t.Context(), o.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestManifests_ApplicableWithAllFeatures covers features that the examples do not use: a Service, a certificate,
// replicas, leases in another namespace, and peering.
func TestManifests_ApplicableWithAllFeatures(t *testing.T) {
	t.Parallel()
	e := newExample(t, openCluster(t), "testdata/everything")
	e.describe(t, "-A", "--peering=tried", "--webhook-managed=tried.kopf.dev")
	e.expectApplicable(t)
	e.describe(t, "--namespace=default", "--namespace=kube-system", "--webhook-managed=tried.kopf.dev", "--shards=2", "--lease=kube-public/tried")
	e.expectApplicable(t, "default", "kube-system")
}
