package apply

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(manifests []Manifest) []string {
	var all []string
	for _, m := range manifests {
		all = append(all, m.Object.GetName())
	}
	return all
}

const (
	crd       = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: crd}\n"
	namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n"
)

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func TestRead_DirectorySortedByNameWithoutSubdirectories(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b.yml", configMap("b"))
	put(t, dir, "a.yaml", configMap("a1")+"---\n"+configMap("a2"))
	put(t, dir, "c.json", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`)
	put(t, dir, "README.md", "not: a manifest")
	put(t, dir, "sub/d.yaml", configMap("d"))
	extra := put(t, t.TempDir(), "odd.txt", configMap("named"))
	manifests, err := Read([]string{extra, dir})
	if want := []string{"named", "a1", "a2", "b", "c"}; err != nil || !slices.Equal(names(manifests), want) {
		t.Errorf("read are %q (%v)", names(manifests), err)
	}
}

func TestRead_DefinitionsAndNamespacesFirst(t *testing.T) {
	path := put(t, t.TempDir(), "all.yaml", strings.Join([]string{configMap("x"), namespace, configMap("z"), crd}, "---\n"))
	manifests, err := Read([]string{path})
	if want := []string{"crd", "ns", "x", "z"}; err != nil || !slices.Equal(names(manifests), want) {
		t.Errorf("read are %q (%v)", names(manifests), err)
	}
}

func TestRead_SplitsLists(t *testing.T) {
	path := put(t, t.TempDir(), "list.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n")
	manifests, err := Read([]string{path})
	if err != nil || !slices.Equal(names(manifests), []string{"a", "b"}) {
		t.Errorf("read are %q (%v)", names(manifests), err)
	}
}

func TestRead_ManifestsHaveLines(t *testing.T) {
	path := put(t, t.TempDir(), "lines.yaml", "# a comment\n\n---\n"+configMap("a")+"--- # another\n\n"+configMap("b")+"---\n---\n# nothing\n")
	manifests, err := Read([]string{path})
	if err != nil || len(manifests) != 2 || manifests[0].Line != 4 || manifests[1].Line != 9 {
		t.Errorf("read are %+v (%v)", manifests, err)
	}
}

func TestRead_SyntaxErrorHasFileAndLine(t *testing.T) {
	good := configMap("good") + "---\n" // 4 lines
	for _, test := range []struct {
		title, name, body string
		line              int
		says              string
	}{
		{"a bad indentation", "x.yaml", good + "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n bad: y\n", 9, "did not find expected"},
		{"two colons", "x.yaml", good + "apiVersion: v1\nkind: a: b\n", 6, "mapping values are not allowed"},
		{"a key twice", "x.yaml", good + "apiVersion: v1\nkind: A\nkind: B\n", 7, "already set"},
		{"a tab", "x.yaml", "apiVersion: v1\nmetadata:\n\tname: x\n", 3, "cannot start any token"},
		{"no apiVersion", "x.yaml", good + "kind: ConfigMap\n", 5, "no apiVersion"},
		{"no kind", "x.yaml", good + "\n\napiVersion: v1\n", 7, "no kind"},
		{"no name", "x.yaml", good + "apiVersion: v1\nkind: ConfigMap\n", 5, "no metadata.name"},
		{"a name that is not a string", "x.yaml", configMap("y"), 1, "put it in quotes"},
		{"an open list", "x.yaml", good + "apiVersion: v1\nkind: [a\nb: c\n", 7, "did not find expected"},
		{"a generated name", "x.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n", 1, "generateName"},
		{"not a mapping", "x.yaml", good + "- a\n", 5, "must be a mapping"},
		{"a bad list", "x.yaml", "apiVersion: v1\nkind: List\nitems: [1]\n", 1, "item 0"},
		{"bad JSON", "x.json", "{\n  \"apiVersion\": \"v1\",\n  \"kind\" \"x\"\n}\n", 3, "invalid character"},
		{"JSON that ends early", "x.json", "{\n  \"apiVersion\": \"v1\"\n", 3, "unexpected end"},
	} {
		t.Run(test.title, func(t *testing.T) {
			path := put(t, t.TempDir(), test.name, test.body)
			_, err := Read([]string{path})
			mistake, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if mistake.File != path || mistake.Line != test.line || !strings.Contains(mistake.Message, test.says) {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(mistake.Message, "yaml:") {
				t.Errorf("the text is %q", err)
			}
		})
	}
}

func TestRead_ReportsAllSyntaxErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.yaml", "kind: A\n---\nkind: B\n")
	put(t, dir, "b.yaml", "a: b: c\n")
	_, err := Read([]string{dir})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("the error is %v", err)
	}
}

func TestRead_ReportsMissingFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read([]string{filepath.Join(dir, "nowhere.yaml")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Read([]string{dir}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("an empty directory: %v", err)
	}
}
