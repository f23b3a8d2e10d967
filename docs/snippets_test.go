// Package docs contains only tests of the documentation: snippets compile, links and glossary
// entries are valid, settings are complete.
package docs

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statements is the function into which snippets are put that are statements rather than
// declarations. Its parameters are the variables that such snippets use.
const statements = `
func _(ctx context.Context, t *testing.T, r *kopf.Registry, registry kopf.Registry, settings *kopf.Settings, cluster *kopftest.Cluster,
	claim *kopftest.Object, c *kopf.Change[Claim], d *kopf.DaemonRun[Claim], pod *unstructured.Unstructured) error {
%s
	panic("the end")
}
`

// packages maps the names of packages that snippets use without an import to their paths.
var packages = map[string]string{
	"context": "context", "embed": "embed", "errors": "errors", "fmt": "fmt", "log": "log", "http": "net/http", "os": "os", "slices": "slices",
	"slog": "log/slog", "sync": "sync", "synctest": "testing/synctest", "testing": "testing", "time": "time",
	"rand":           "crypto/rand",
	"appsv1":         "k8s.io/api/apps/v1",
	"batchv1":        "k8s.io/api/batch/v1",
	"corev1":         "k8s.io/api/core/v1",
	"networkingv1":   "k8s.io/api/networking/v1",
	"apierrors":      "k8s.io/apimachinery/pkg/api/errors",
	"meta":           "k8s.io/apimachinery/pkg/api/meta",
	"metav1":         "k8s.io/apimachinery/pkg/apis/meta/v1",
	"unstructured":   "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
	"schema":         "k8s.io/apimachinery/pkg/runtime/schema",
	"types":          "k8s.io/apimachinery/pkg/types",
	"dynamic":        "k8s.io/client-go/dynamic",
	"rest":           "k8s.io/client-go/rest",
	"sql":            "database/sql",
	"kopf":           "github.com/kopf-dev/kopf/sdk/kopf",
	"election":       "github.com/kopf-dev/kopf/sdk/kopf/election",
	"lifecycle":      "github.com/kopf-dev/kopf/sdk/kopf/lifecycle",
	"logging":        "github.com/kopf-dev/kopf/sdk/kopf/logging",
	"manifest":       "github.com/kopf-dev/kopf/sdk/kopf/manifest",
	"owner":          "github.com/kopf-dev/kopf/sdk/kopf/owner",
	"meter":          "github.com/kopf-dev/kopf/sdk/kopf/meter",
	"metrics":        "github.com/kopf-dev/kopf/sdk/metrics",
	"storage":        "github.com/kopf-dev/kopf/sdk/kopf/storage",
	"prometheus":     "github.com/prometheus/client_golang/prometheus",
	"promauto":       "github.com/prometheus/client_golang/prometheus/promauto",
	"leaderelection": "github.com/kopf-dev/kopf/sdk/leaderelection",
	"kopftest":       "github.com/kopf-dev/kopf/sdk/kopftest",
	"webhook":        "github.com/kopf-dev/kopf/sdk/webhook",
}

var fence = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```$")

func TestSnippets_Compile(t *testing.T) {
	if testing.Short() {
		t.Skip("the test compiles a program for each snippet; run it without -short")
	}
	module, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	pages = append(pages, "../README.md")
	// An overlay adds the snippets to the module without writing into it.
	overlay := map[string]string{}
	build := []string{"build", "-overlay", filepath.Join(t.TempDir(), "overlay.json")}
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllSubmatchIndex(text, -1) {
			line := 2 + strings.Count(string(text[:m[0]]), "\n")
			code := unindented(string(text[m[4]:m[5]]), string(text[m[2]:m[3]]))
			folder := fmt.Sprintf("snippet_%s_%d", strings.TrimSuffix(strings.TrimPrefix(page, "../"), ".md"), line)
			for name, text := range program(t, fmt.Sprintf("%s:%d", page, line), code) {
				file := filepath.Join(dir, folder+name)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				overlay[filepath.Join(module, folder, name)] = file
			}
			build = append(build, "./"+folder)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(build[2], list, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", build...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func unindented(code, indent string) string {
	if indent == "" {
		return code
	}
	lines := strings.SplitAfter(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(lines, "")
}

// program returns the files of a snippet's package: the snippet, and the declarations that it uses.
func program(t *testing.T, where, code string) map[string]string {
	t.Helper()
	if !strings.HasPrefix(code, "package ") {
		_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0)
		code = fmt.Sprintf("//line %s\n%s", where, code)
		if err != nil {
			code = fmt.Sprintf(statements, code)
		}
		code = fmt.Sprintf("package p\n%s\n%s", imports(code), code)
	}
	snippet, err := parser.ParseFile(token.NewFileSet(), "", code, 0)
	if err != nil {
		t.Fatalf("%s: neither declarations nor statements: %v", where, err)
	}
	rest := surroundings(t, declared(snippet.Decls))
	return map[string]string{
		"snippet.go":      code,
		"surroundings.go": fmt.Sprintf("package %s\n%s\n%s", snippet.Name.Name, imports(rest), rest),
	}
}

func imports(code string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %s %q\n", name, packages[name])
		}
	}
	return b.String()
}

// surroundings returns the declarations of the file of that name, except those in without.
func surroundings(t *testing.T, without map[string]bool) string {
	t.Helper()
	text, err := os.ReadFile("testdata/surroundings.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "surroundings.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range file.Decls {
		names := declared([]ast.Decl{d})
		if !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(name string) bool { return without[name] }) {
			fmt.Fprintf(&b, "\n%s\n", text[files.Position(d.Pos()).Offset:files.Position(d.End()).Offset])
		}
	}
	return b.String()
}

func declared(decls []ast.Decl) map[string]bool {
	names := map[string]bool{}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names[name.Name] = true
					}
				}
			}
		}
	}
	return names
}
