package manifests

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// operator is what an operator of two resources says of itself.
func operator(scope inspect.PermissionScope) inspect.Description {
	return inspect.Description{Permissions: []inspect.Permission{
		{
			Group: "kopf.dev", Resource: "kopfexamples", Verbs: []string{"list", "watch", "patch"}, Scope: scope,
			Purpose: inspect.HandledObjects, Handlers: []string{"create (x/x.go:1)", "on: {it}\nkind: Evil (x/x.go:2)"},
		},
		{Group: "*", Resource: "*", Verbs: []string{"list"}, Scope: inspect.ScopeCluster, Purpose: "requests of the handlers themselves", Handlers: []string{"all (x/x.go:3)"}},
		{Group: "", Resource: "events", Verbs: []string{"create"}, Scope: inspect.ScopeOwn, Purpose: "the operator itself: to post"},
	}}
}

func newManifests(t *testing.T, o Options) *Manifests {
	t.Helper()
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestYAML_Golden(t *testing.T) {
	for name, o := range map[string]Options{
		"cluster": {Name: "op", Image: "registry.example.com/op:v1", Operators: []inspect.Description{operator(inspect.ScopeCluster)}},
		"namespaces": {
			Name: "op", Namespace: "ops", Image: "op", Served: []string{"one", "on"},
			Operators: []inspect.Description{operator(inspect.ScopeServed), operator(inspect.ScopeServed)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := newManifests(t, o).YAML()
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
			for document := range strings.SplitSeq(got, "---\n") {
				var object map[string]any
				if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil || object["kind"] == "Evil" {
					t.Errorf("%v: %s", err, document)
				}
			}
		})
	}
}

func TestJSON_HasSameObjects(t *testing.T) {
	m := newManifests(t, Options{Name: "op", Image: "op:v1", Operators: []inspect.Description{operator(inspect.ScopeCluster)}})
	body, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Kind  string
		Items []map[string]any
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(m.YAML(), "\nkind: "); list.Kind != "List" || len(list.Items) != want {
		t.Errorf("%s of %d objects, want %d", list.Kind, len(list.Items), want)
	}
}

func TestNew_UnresolvedSelectorsFail(t *testing.T) {
	d := inspect.Description{Unserved: []inspect.Unserved{
		{Selector: "kex", Reason: inspect.UnservedUnresolved, Handlers: []string{"create (x/x.go:1)"}},
		{Selector: "things", Reason: inspect.UnservedAmbiguous, Handlers: []string{"update (x/x.go:2)"}, Matches: []string{"things.v1.one.dev", "things.v1.two.dev"}},
	}}
	_, err := New(Options{Name: "op", Operators: []inspect.Description{d}})
	if unresolved, ok := errors.AsType[*UnresolvedError](err); !ok || len(unresolved.Unserved) != 2 {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{`"kex" is not a resource`, "create (x/x.go:1)", "--crd", `"things" matches several`, "things.v1.two.dev"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestNew_InvalidNamesFail(t *testing.T) {
	for _, o := range []Options{{Name: ""}, {Name: "Upper"}, {Name: "op", Namespace: "a: b"}} {
		o.Operators = []inspect.Description{{}}
		if _, err := New(o); err == nil {
			t.Errorf("%+v has no error", o)
		}
	}
	if _, err := New(Options{Name: "op"}); err == nil {
		t.Error("no operators, no error")
	}
}

func TestDeployment_ProbesAddressOfTheCode(t *testing.T) {
	d := operator(inspect.ScopeCluster)
	d.Liveness = "http://:9000/alive"
	got := newManifests(t, Options{Name: "op", Image: "op:v1", Operators: []inspect.Description{d}}).YAML()
	for _, want := range []string{"containerPort: 9000", `path: "/alive"`, `"--liveness=http://:9000/alive"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
}

func TestScalar_ReadsBackEqual(t *testing.T) {
	for _, text := range []string{"list", "on", "y", "null", "1", "1.5", "*", "", "a: b", "#x", "- x", "--all-namespaces", "--x=http://0.0.0.0:80/z", "apps/v1", "kopf.dev", "a\nb", "[x]", "0x1", "~"} {
		var back any
		if err := yaml.Unmarshal([]byte(scalar(text)), &back); err != nil || back != text {
			t.Errorf("%q is written as %s and read as %v (%v)", text, scalar(text), back, err)
		}
	}
}

func TestPeering_IsValid(t *testing.T) {
	text := Peering("default", []string{"one"})
	kinds := ""
	for document := range strings.SplitSeq(text, "---\n") {
		var object struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Errorf("%v: %s", err, document)
		}
		kinds += object.Kind + " "
	}
	if want := "CustomResourceDefinition CustomResourceDefinition ClusterKopfPeering KopfPeering "; kinds != want {
		t.Errorf("got %s", kinds)
	}
}
