package manifests

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// operator is the description of an operator with two resources.
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

// guarded is the description of an operator with an admission handler and peering.
func guarded() inspect.Description {
	return inspect.Description{Webhooks: "op.kopf.dev", Peering: "mine", Permissions: []inspect.Permission{
		{Group: "kopf.dev", Resource: "clusterkopfpeerings", Verbs: []string{"patch"}, Names: []string{"mine"}, Scope: inspect.ScopeCluster, Purpose: "the operator itself: peering"},
		{
			Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Names: []string{"op.kopf.dev"}, Verbs: []string{"patch"},
			Scope: inspect.ScopeCluster, Purpose: "webhooks", Handlers: []string{"check (x/x.go:1)"},
		},
	}}
}

// scaled is the description of an operator with admission handlers and with leases in another namespace.
func scaled() inspect.Description {
	d := guarded()
	d.Leases = inspect.Leases{Name: "op", Namespace: "there", Shards: 4}
	d.Permissions = append(d.Permissions, inspect.Permission{
		Group: "coordination.k8s.io", Resource: "leases", Verbs: []string{"list"}, Scope: inspect.ScopeNamed, Namespace: "there", Purpose: "the operator itself: shards",
	})
	return d
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
		"replicas": {
			Name: "op", Image: "op", Replicas: 3, Args: []string{"--shards=4", "--lease=there/op"}, Certificate: "op-webhooks",
			Operators: []inspect.Description{scaled()},
		},
		"webhooks": {Name: "op", Image: "op", Operators: []inspect.Description{guarded()}},
	} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, newManifests(t, o).YAML())
		})
	}
}

// checkGolden compares manifests with a file, and checks that they are valid YAML.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
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
}

func TestUninstall_Golden(t *testing.T) {
	elected := guarded()
	elected.Permissions = append(elected.Permissions, operator(inspect.ScopeCluster).Permissions...)
	elected.Leases = inspect.Leases{Name: "op"}
	for name, test := range map[string]struct {
		Options
		UninstallOptions
	}{
		"uninstall-cluster": {
			Options{Name: "op", Image: "op", Certificate: "op-webhooks", Args: []string{"--leader-elect=true", "--lease=op", "--peering=mine"}, Operators: []inspect.Description{elected}},
			UninstallOptions{Finalizer: "example.com/mine"},
		},
		"uninstall-namespaces": {
			Options{Name: "op", Namespace: "ops", Image: "op", Served: []string{"one", "on"}, Operators: []inspect.Description{operator(inspect.ScopeServed)}},
			UninstallOptions{DryRun: true},
		},
		"uninstall-shards": {
			Options{Name: "op", Image: "op", Args: []string{"--shards=4", "--lease=there/op"}, Certificate: "op-webhooks", Operators: []inspect.Description{scaled()}},
			UninstallOptions{},
		},
		"uninstall-prefixed": {
			Options{Name: "op", Image: "op", Operators: []inspect.Description{operator(inspect.ScopeCluster)}},
			UninstallOptions{Deployment: "team-op"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newManifests(t, test.Options).Uninstall(test.UninstallOptions)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, name, m.YAML())
		})
	}
	if _, err := newManifests(t, Options{Name: "op", Operators: []inspect.Description{guarded()}}).Uninstall(UninstallOptions{}); err == nil {
		t.Error("a Job without an image is accepted")
	}
	if _, err := newManifests(t, Options{Name: "op", Image: "op", Operators: []inspect.Description{operator(inspect.ScopeCluster)}}).Uninstall(UninstallOptions{Deployment: "team/op"}); err == nil || !strings.Contains(err.Error(), `"team/op"`) {
		t.Errorf("with an invalid name of the Deployment, the error is %v", err)
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

func TestNew_RefusesWhatKubernetesWouldNot(t *testing.T) {
	served := operator(inspect.ScopeServed)
	local := operator(inspect.ScopeCluster)
	local.Liveness = "http://127.0.0.1:8080/healthz"
	for want, o := range map[string]Options{
		`"" is not a valid name`:           {Operators: []inspect.Description{{}}},
		`"Upper" is not a valid name`:      {Name: "Upper", Operators: []inspect.Description{{}}},
		`"a: b" is not a valid name`:       {Name: "op", Namespace: "a: b", Operators: []inspect.Description{{}}},
		`"a/b" is not a valid name`:        {Name: "op", Served: []string{"a/b"}, Operators: []inspect.Description{served}},
		"has no operator":                  {Name: "op"},
		"2 replicas would handle":          {Name: "op", Replicas: 2, Operators: []inspect.Description{served}},
		"-1 replicas: want":                {Name: "op", Replicas: -1, Operators: []inspect.Description{served}},
		"no admission handlers":            {Name: "op", Certificate: "x", Operators: []inspect.Description{served}},
		"2 replicas would each make":       {Name: "op", Image: "op", Operators: []inspect.Description{scaled()}},
		"for the Service of the webhooks":  {Name: "1st", Image: "op", Operators: []inspect.Description{guarded()}},
		`"X" is not a valid name of a Sec`: {Name: "op", Image: "op", Certificate: "X", Operators: []inspect.Description{guarded()}},
		"where Kubernetes cannot probe it": {Name: "op", Operators: []inspect.Description{local}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestYAML_RoleOfManyHandlersHasOneRule(t *testing.T) {
	d := operator(inspect.ScopeServed)
	d.Permissions = d.Permissions[:1]
	d.Permissions[0].Handlers = nil
	for i := range 100 {
		d.Permissions[0].Handlers = append(d.Permissions[0].Handlers, fmt.Sprintf("handler%d (x/x.go:%d)", i, i))
	}
	text := newManifests(t, Options{Name: "op", Served: []string{"one", "one"}, Operators: []inspect.Description{d}}).YAML()
	if strings.Count(text, "verbs:") != 1 || strings.Count(text, "kind: Role\n") != 2 || !strings.Contains(text, "handler99 (x/x.go:99).\n") {
		t.Errorf("got %s", text)
	}
	for line := range strings.Lines(text) {
		if len(line) > commentWidth+1 {
			t.Errorf("the line is too long: %s", line)
		}
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

func TestPeering_DefinitionsAndObjects(t *testing.T) {
	for _, test := range []struct {
		o    PeeringOptions
		want string
	}{
		{PeeringOptions{}, "CustomResourceDefinition CustomResourceDefinition ClusterKopfPeering "},
		{PeeringOptions{Namespaces: []string{"one", "on", "one"}, NoDefinitions: true}, "KopfPeering KopfPeering "},
		{PeeringOptions{NoObjects: true}, "CustomResourceDefinition CustomResourceDefinition "},
	} {
		p, err := NewPeering(test.o)
		if err != nil {
			t.Fatal(err)
		}
		body, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []struct{ Kind string } }
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
		kinds := ""
		for _, item := range list.Items {
			kinds += item.Kind + " "
		}
		if kinds != test.want {
			t.Errorf("%+v: got %s", test.o, kinds)
		}
	}
	for _, o := range []PeeringOptions{{Name: "a b"}, {Namespaces: []string{"app-*"}}, {Namespaces: []string{""}}} {
		if _, err := NewPeering(o); err == nil {
			t.Errorf("%+v has no error", o)
		}
	}
}
