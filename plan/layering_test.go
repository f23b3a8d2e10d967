package plan_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clients are the packages that may import a client of Kubernetes: of the cluster, which only reads, and of the control plane
// with the copy.
var clients = []string{"source", "proxy"}

// TestLayering_OneClientOfTheCluster holds the linter's rules plan and plan-clients: for the imports of all files but tests.
func TestLayering_OneClientOfTheCluster(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(imported, "k8s.io/client-go/") {
				continue
			}
			seen[folder] = true
			if !slices.Contains(clients, folder) {
				t.Errorf("%s imports %s: plan/source has the only client of the cluster, and plan/proxy the one of the copy", path, imported)
			}
			if imported != "k8s.io/client-go/rest" {
				t.Errorf("%s imports %s: the clients of a plan are made of k8s.io/client-go/rest alone", path, imported)
			}
			if folder == "proxy" && !strings.HasPrefix(filepath.Base(path), "control") && filepath.Base(path) != "proxy.go" {
				t.Errorf("%s imports %s: the proxy connects to the control plane only in control.go", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen["source"] {
		t.Error("no client was found in plan/source: the test looks at the wrong files")
	}
}
