package resources

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestBuiltIn_IsDiscoveryOfControlPlane(t *testing.T) {
	state, err := os.MkdirTemp("", "kopf-res-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("XDG_STATE_HOME", state)
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	served, err := Served(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	known, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	order := cmpopts.SortSlices(func(a, b inspect.APIResource) bool {
		return a.Group+"/"+a.Version+"/"+a.Plural < b.Group+"/"+b.Version+"/"+b.Plural
	})
	if diff := cmp.Diff(known, served, order, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("builtin.json is not what the control plane serves: %s", diff)
	}
}

func TestDefined_ServedVersionsOfDefinitions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	text := `
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, shortNames: [th], categories: [all]}
  versions:
    - {name: v1beta1, served: true, subresources: {scale: {}}}
    - {name: v1, served: true, subresources: {status: {}}}
    - {name: v2, served: false}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manifests, err := apply.Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Defined(manifests)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v (%v)", got, err)
	}
	beta, v1 := got[0], got[1]
	if beta.Version != "v1beta1" || beta.Preferred || !slices.Equal(beta.Subresources, []string{"scale"}) {
		t.Errorf("got %+v", beta)
	}
	if v1.Version != "v1" || !v1.Preferred || !v1.Namespaced || v1.Plural != "things" || v1.Kind != "Thing" || !slices.Equal(v1.Subresources, []string{"status"}) {
		t.Errorf("got %+v", v1)
	}
}
