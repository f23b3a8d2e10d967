package runner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoad_FindsPackagesByPattern(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":          handlers("a", ""),
		"b/b.go":          handlers("b", ""),
		"b/b_test.go":     "package b\n",
		"util/util.go":    "package util\n",
		"prog/main.go":    handlers("main", ""),
		"own/main.go":     "package main\n\nfunc main() {}\n",
		"alias/alias.go":  "package alias\n\nimport k \"github.com/kopf-dev/kopf/sdk/kopf\"\n\ntype R = k.Registry\n\nfunc Register(*R) {}\n",
		"dotted/d.go":     "package dotted\n\nimport . \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc Register(r *Registry) {}\n",
		"renamed/name.go": "package renamed\n\nimport k \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc Register(_ *k.Registry) {}\n",
	})
	for name, test := range map[string]struct {
		from     string
		patterns []string
		want     []string
	}{
		"a folder":                 {"", []string{"./a"}, []string{"example.com/op/a"}},
		"the current folder":       {"a", []string{"."}, []string{"example.com/op/a"}},
		"the parent of the folder": {"a", []string{"../b"}, []string{"example.com/op/b"}},
		"two folders":              {"", []string{"./a", "./b"}, []string{"example.com/op/a", "example.com/op/b"}},
		"an absolute path":         {"/", []string{filepath.Join(dir, "b")}, []string{"example.com/op/b"}},
		"an import path":           {"", []string{"example.com/op/a"}, []string{"example.com/op/a"}},
		"a wildcard":               {"", []string{"./a/...", "./b/...", "./util/..."}, []string{"example.com/op/a", "example.com/op/b"}},
		"a program without main":   {"", []string{"./prog"}, []string{"example.com/op/prog"}},
		"a program with main":      {"", []string{"./own"}, []string{"example.com/op/own"}},
		"an alias of the registry": {"", []string{"./alias"}, []string{"example.com/op/alias"}},
		"a dot import":             {"", []string{"./dotted"}, []string{"example.com/op/dotted"}},
		"a renamed import":         {"", []string{"./renamed"}, []string{"example.com/op/renamed"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := filepath.Join(dir, test.from)
			if test.from == "/" {
				from = "/"
			}
			p, err := Load(t.Context(), from, test.patterns)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, p.Packages); diff != "" {
				t.Error(diff)
			}
			if p.Module != "example.com/op" || p.Dir != dir {
				t.Errorf("the module is %s in %s", p.Module, p.Dir)
			}
		})
	}
}

func TestLoad_MissingRegisterExplainsWhatToWrite(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go": "package a\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\ntype T struct{}\n\nfunc (T) Register(r *kopf.Registry) {}\n\nfunc Setup(r *kopf.Registry) {}\n\nfunc register() {}\n",
	})
	_, err := Load(t.Context(), dir, []string{"./a"})
	missing, ok := errors.AsType[*NoRegisterError](err)
	if !ok {
		t.Fatal(err)
	}
	want := []string{"a method Register at a/a.go:7", "func Setup at a/a.go:9", "func register at a/a.go:11"}
	if diff := cmp.Diff(want, missing.Found); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"./a: no func Register(*kopf.Registry)", "func Setup at a/a.go:9", "func Register(r *kopf.Registry) {", `import "github.com/kopf-dev/kopf/sdk/kopf"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %s", part, err)
		}
	}
}

func TestLoad_InvalidPackageHasShortError(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":     handlers("a", ""),
		"empty/x.md": "nothing",
		"two/a.go":   "package a\n",
		"two/b.go":   "package b\n",
	})
	other := tree(t, map[string]string{"go.mod": module("example.com/other"), "c/c.go": handlers("c", "")})
	bare := tree(t, map[string]string{"go.mod": "", "d/d.go": handlers("d", "")})
	for name, test := range map[string]struct {
		patterns []string
		want     string
	}{
		"no such folder":    {[]string{"./b"}, "./b: no such folder"},
		"a file":            {[]string{"./a/a.go"}, "./a/a.go: is a file; name its folder"},
		"no dot and slash":  {[]string{"a"}, "a: no such package; the folder of this name is ./a"},
		"none, wildcard":    {[]string{"a/..."}, "a/...: no such package; the folder of this name is ./a/..."},
		"a file, no dot":    {[]string{"a/a.go"}, "a/a.go: is a file; name its folder instead: ./a"},
		"a folder without":  {[]string{"./empty"}, "no Go files"},
		"no such import":    {[]string{"example.com/op/zzz"}, "example.com/op/zzz: "},
		"matching nothing":  {[]string{"./empty/..."}, "matches no packages"},
		"another module":    {[]string{"./a", filepath.Join(other, "c")}, "is not in the module of the first package"},
		"no module":         {[]string{filepath.Join(bare, "d")}, "go mod init"},
		"packages in a mix": {[]string{"./two"}, "found packages a (a.go) and b (b.go)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(t.Context(), dir, test.patterns)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v", err)
			}
			if lines := strings.Count(err.Error(), "\n"); lines > 1 {
				t.Errorf("the error has %d lines: %s", lines+1, err)
			}
		})
	}
}

func TestLoad_RejectsPackagesThatCannotBeCombined(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":    handlers("a", ""),
		"m/main.go": handlers("main", ""),
		"n/main.go": handlers("main", ""),
		"o/main.go": handlers("main", "") + "\nfunc main() {}\n",
	})
	for want, patterns := range map[string][]string{
		"both are programs":     {"./m", "./n"},
		"has its own func main": {"./a", "./o"},
	} {
		_, err := Load(t.Context(), dir, patterns)
		if _, ok := errors.AsType[*CombinationError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", patterns, err)
		}
	}
}

func TestLoad_MissingToolchainIsReported(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Load(t.Context(), ".", []string{"."})
	if _, ok := errors.AsType[*ToolchainError](err); !ok || !strings.Contains(err.Error(), "https://go.dev") {
		t.Error(err)
	}
}
