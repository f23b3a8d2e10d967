package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"
)

func TestWrite_NamesResourceAfterFolder(t *testing.T) {
	for folder, want := range map[string]string{
		"hello":            "Hello hellos example.com/hello",
		"claims-operator":  "Claim claims example.com/claims-operator",
		"policies":         "Policy policies example.com/policies",
		"network-access":   "NetworkAccess networkaccesses example.com/network-access",
		"my.policy_engine": "MyPolicyEngine mypolicyengines example.com/my.policy_engine",
		"policy":           "Policy policies example.com/policy",
		"größe x":          "GrEX grexs example.com/gr--e-x",
	} {
		result, err := Write(Options{Dir: filepath.Join(t.TempDir(), folder)})
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		plural := readDefinition(t, result.Dir).Spec.Names.Plural
		if got := result.Kind + " " + plural + " " + result.Module; got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
	}
}

// definition is a part of a CustomResourceDefinition.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group, Scope string
		Names        struct{ Kind, Plural, Singular string }
		Versions     []struct{ Name string }
	}
}

func readDefinition(t *testing.T, dir string) (d definition) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, dir, "handlers/crd.yaml"), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWrite_ResourceOfOptions(t *testing.T) {
	dir := t.TempDir()
	_, err := Write(Options{
		Dir: dir, Kind: "Invoice", Group: "billing.example.org", Version: "v1alpha1", Plural: "bills", ClusterScoped: true,
		Module: "example.org/billing", SDKVersion: "v0.3.0",
	})
	if err != nil {
		t.Fatal(err)
	}
	definition := readDefinition(t, dir)
	spec := definition.Spec
	got := []string{definition.Metadata.Name, spec.Group, spec.Scope, spec.Names.Kind, spec.Names.Plural, spec.Names.Singular, spec.Versions[0].Name}
	if want := []string{"bills.billing.example.org", "billing.example.org", "Cluster", "Invoice", "bills", "invoice", "v1alpha1"}; !slices.Equal(got, want) {
		t.Errorf("the definition has %q, want %q", got, want)
	}
	if code := string(read(t, dir, "handlers/handlers.go")); !strings.Contains(code, `kopf.Resource("billing.example.org/v1alpha1", "bills")`) {
		t.Error(code)
	}
	mod, err := modfile.Parse("go.mod", read(t, dir, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Module.Mod.Path != "example.org/billing" || len(mod.Require) != 2 || mod.Require[0].Mod.Version != "v0.3.0" || mod.Require[1].Mod.Path != "k8s.io/api" {
		t.Errorf("go.mod is %s", read(t, dir, "go.mod"))
	}
}

func TestWrite_WithChildrenHasOnlyFilesOfThatOperator(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write(Options{Dir: dir, Kind: "Shop", WithChildren: true}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"handlers/handlers.go":      "kopf.OnReconcile(r, kopf.Resource(\"example.com/v1\", \"shops\"), reconcile,",
		"handlers/handlers_test.go": "kopftest.Pass[Shop](t, Register,",
		"handlers/crd.yaml":         "                size: {type: integer, minimum: 0, default: 1}\n                image: {type: string}\n            status:\n",
		"handlers/sample.yaml":      "spec:\n  size: 1\n  image: nginx\n",
		"AGENTS.md":                 "- Each kind of children is declared by a `kopf.Own`",
		"README.md":                 "kopf). Each object has a Deployment",
	} {
		if text := string(read(t, dir, name)); !strings.Contains(text, want) || strings.Contains(text, "OnCreate") || strings.Contains(text, "kopftest.Change") {
			t.Errorf("%s is\n%s", name, text)
		}
	}
	if got := len(tree(t, dir)); got != 8 {
		t.Errorf("the operator has %d files: %q", got, tree(t, dir))
	}
}

func TestWrite_PrefixIsValidAndOfTheOperator(t *testing.T) {
	for _, test := range []struct{ folder, group, want string }{
		{"hello", "", "hello.example.com"},
		{"Claims-Operator", "storage.example.org", "claims-operator.storage.example.org"},
		{"my.policy_engine", "", "my-policy-engine.example.com"},
		{"größe x", "", "gr--e-x.example.com"},
		{"kopf", "", "my-kopf.example.com"},
		{"ü", "", "operator.example.com"},
		{strings.Repeat("x", 100), "", strings.Repeat("x", 63) + ".example.com"},
		{strings.Repeat("x", 9), strings.Repeat("a.", 120) + "example", strings.Repeat("a.", 120) + "example"},
	} {
		dir := t.TempDir()
		if _, err := Write(Options{Dir: filepath.Join(dir, test.folder), Kind: "Hello", Group: test.group}); err != nil {
			t.Errorf("%s: %v", test.folder, err)
			continue
		}
		code := string(read(t, dir, test.folder+"/handlers/handlers.go"))
		if want := "\tr.Prefix = \"" + test.want + "\" // "; !strings.Contains(code, want) {
			t.Errorf("%s: want %s in\n%s", test.folder, want, code)
		}
	}
}

func TestWrite_NeverOverwrites(t *testing.T) {
	for _, name := range []string{"README.md", "AGENTS.md", "handlers/crd.yaml"} {
		dir := t.TempDir()
		put(t, dir, name, "mine")
		_, err := Write(Options{Dir: dir, Kind: "Hello"})
		exists, ok := errors.AsType[*ExistsError](err)
		if !ok || !slices.Equal(exists.Files, []string{name}) {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, dir); !slices.Equal(got, []string{name}) || string(read(t, dir, name)) != "mine" {
			t.Errorf("%s: the folder has %q", name, got)
		}
	}
}

func TestWrite_KeepsModule(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "go.mod", "module example.net/mine\n\ngo 1.26.0\n")
	result, err := Write(Options{Dir: dir, Kind: "Hello"})
	if err != nil {
		t.Fatal(err)
	}
	if result.Module != "example.net/mine" || !slices.Equal(result.Kept, []string{"go.mod"}) || slices.Contains(result.Files, "go.mod") {
		t.Errorf("the result is %+v", result)
	}
	put(t, dir, "other/go.mod", "this is none")
	if _, err := Write(Options{Dir: filepath.Join(dir, "other")}); err == nil || !strings.Contains(err.Error(), "names no module") {
		t.Errorf("the error is %v", err)
	}
}

func TestWrite_RefusesOptionsAndWritesNothing(t *testing.T) {
	for _, test := range []struct {
		field string
		o     Options
	}{
		{"Kind", Options{Kind: "hello"}},
		{"Kind", Options{Kind: "Hello World"}},
		{"Kind", Options{Kind: "Register"}},
		{"Kind", Options{Dir: "123"}},
		{"Group", Options{Group: "example"}},
		{"Group", Options{Group: "Example.com"}},
		{"Group", Options{Group: "apps.k8s.io"}},
		{"Version", Options{Version: "1"}},
		{"Plural", Options{Plural: "Hellos"}},
		{"Module", Options{Module: "no module"}},
		{"Namespaced", Options{WithChildren: true, ClusterScoped: true}},
	} {
		dir := t.TempDir()
		if test.o.Dir == "" {
			test.o.Dir = "hello"
		}
		test.o.Dir = filepath.Join(dir, test.o.Dir)
		_, err := Write(test.o)
		if invalid, ok := errors.AsType[*InvalidError](err); !ok || invalid.Option != test.field {
			t.Errorf("%+v: %v", test.o, err)
		}
		if got := tree(t, dir); len(got) > 0 {
			t.Errorf("%+v: wrote %q", test.o, got)
		}
	}
}

func TestWrite_LeavesNothingAfterFailure(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "AGENTS.md", "") // a file, where the folder of the operator is created
	if _, err := Write(Options{Dir: filepath.Join(dir, "AGENTS.md"), Kind: "Hello"}); err == nil {
		t.Error("there is no error")
	}
	if got := tree(t, dir); !slices.Equal(got, []string{"AGENTS.md"}) {
		t.Errorf("the folder has %q", got)
	}
}

func TestGoVersion_IsThatOfSDK(t *testing.T) {
	text, err := os.ReadFile("../sdk/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Go.Version != goVersion {
		t.Errorf("the SDK needs %s, new operators %s", mod.Go.Version, goVersion)
	}
	for _, r := range mod.Require {
		if r.Mod.Path == "k8s.io/apimachinery" && r.Mod.Version != apiVersion {
			t.Errorf("the SDK needs %s %s, new operators k8s.io/api %s", r.Mod.Path, r.Mod.Version, apiVersion)
		}
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tree returns the paths of the files in a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
