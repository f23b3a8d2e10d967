package rehandle

import (
	"os"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

var maps = inspect.APIResource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"list", "patch"}}

// operator describes an operator of config maps whose handlers have the given versions, by id.
func operator(versions map[string]string) inspect.Description {
	d := inspect.Description{Prefix: "my.example.com"}
	handled := inspect.Permission{Resource: "configmaps", Verbs: []string{"list", "watch", "patch"}, Purpose: inspect.HandledObjects}
	for id, version := range versions {
		d.Handlers = append(d.Handlers, inspect.Registration{ID: id, Version: version, Source: "x/x.go:1"})
		handled.Handlers = append(handled.Handlers, id+" (x/x.go:1)")
	}
	d.Permissions = []inspect.Permission{{Resource: "secrets", Purpose: inspect.HandledObjects, Handlers: []string{"other (x/x.go:1)"}}, handled}
	return d
}

func TestNewTarget_OneHandlerWithAVersion(t *testing.T) {
	secrets := maps
	secrets.Plural = "secrets"
	cluster := []inspect.APIResource{secrets, maps}
	for name, test := range map[string]struct {
		operators []inspect.Description
		cluster   []inspect.APIResource
		id        string
		want      string // version, or a part of the error
	}{
		"the only version":         {[]inspect.Description{operator(map[string]string{"a": "2", "b": ""})}, cluster, "", "2"},
		"the named one":            {[]inspect.Description{operator(map[string]string{"a": "2", "b": "3"})}, cluster, "b", "3"},
		"of one of two operators":  {[]inspect.Description{operator(map[string]string{"a": ""}), operator(map[string]string{"b": "3"})}, cluster, "b", "3"},
		"several":                  {[]inspect.Description{operator(map[string]string{"a": "2", "b": "3"})}, cluster, "", "which handler? the handlers with a version are a, b"},
		"of several operators":     {[]inspect.Description{operator(map[string]string{"a": "2"}), operator(map[string]string{"a": "2"})}, cluster, "a", "several operators have the handler \"a\""},
		"none":                     {[]inspect.Description{operator(map[string]string{"a": ""})}, cluster, "", "no handler has a version"},
		"without a version":        {[]inspect.Description{operator(map[string]string{"a": "", "b": "2"})}, cluster, "a", "the handler \"a\" has no version"},
		"unknown":                  {[]inspect.Description{operator(map[string]string{"a": "2"})}, cluster, "c", "the operator has no handler \"c\"; the handlers with a version are a"},
		"a part of an id":          {[]inspect.Description{operator(map[string]string{"ab": "2"})}, cluster, "a", "no handler \"a\""},
		"of a resource that is no": {[]inspect.Description{operator(map[string]string{"a": "2"})}, []inspect.APIResource{secrets}, "a", "the cluster has no resource of the handler"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewTarget(test.operators, test.cluster, test.id)
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v instead of %q", err, test.want)
				}
				return
			}
			if got.Version != test.want || got.Prefix != "my.example.com" || len(got.Resources) != 1 || got.Resources[0].Plural != "configmaps" {
				t.Errorf("the target is %+v", got)
			}
		})
	}
}

func TestNewTarget_OnlyTheResourcesOfTheVersion(t *testing.T) {
	secrets := maps
	secrets.Plural = "secrets"
	d := operator(map[string]string{"a": "2"})
	d.Handlers = append(d.Handlers, inspect.Registration{ID: "a", Source: "x/x.go:9"})
	d.Permissions[0].Handlers = []string{"a (x/x.go:9)"} // secrets
	got, err := NewTarget([]inspect.Description{d}, []inspect.APIResource{secrets, maps}, "a")
	if err != nil || len(got.Resources) != 1 || got.Resources[0].Plural != "configmaps" {
		t.Errorf("the resources are %v (%v)", got.Resources, err)
	}
	d.Handlers[1].Version = "3"
	if _, err := NewTarget([]inspect.Description{d}, []inspect.APIResource{secrets, maps}, "a"); err == nil || !strings.Contains(err.Error(), "has the versions 2 and 3") {
		t.Errorf("two versions are accepted: %v", err)
	}
}

func TestShareOf_SpreadsObjectsOverTheStages(t *testing.T) {
	canaries := 0
	for i := range 10_000 {
		share := shareOf(strings.Repeat("u", i%7) + string(rune('a'+i%26)) + strings.Repeat("x", i/26))
		if share < 0 || share >= 1 {
			t.Fatalf("a share of %v", share)
		}
		if share < 0.1 {
			canaries++
		}
	}
	if canaries < 800 || canaries > 1200 { // hashes of constant texts: the same number in each run
		t.Errorf("%d of 10,000 objects are in the stage of 10 %%", canaries)
	}
	if shareOf("9f1a7a1e-1") != shareOf("9f1a7a1e-1") {
		t.Error("the stage of an object changes")
	}
}
