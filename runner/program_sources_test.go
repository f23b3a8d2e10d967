package runner

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIsSource_MatchesFilesOfTheBuild(t *testing.T) {
	for name, want := range map[string]bool{
		"a.go": true, "dir/a.go": true, "asm.s": true, "go.mod": true, "go.sum": true, "go.work": true, "vendor/modules.txt": true,
		"a_test.go": false, ".#a.go": false, ".a.go.swp": false, "a.go~": false, "4913": false, "#a.go#": false, "_a.go": false, "README.md": false,
	} {
		if got := isSource(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSourceSet_HasOwnAndReplacedModules(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":          "package a\n\nimport (\n\t_ \"embed\"\n\t\"example.com/op/internal/b\"\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\n//go:embed page.html\nvar page string\n\nfunc Register(*kopf.Registry) { b.B(page) }\n",
		"a/page.html":     "x",
		"internal/b/b.go": "package b\n\nfunc B(string) {}\n",
		"unused/u.go":     "package unused\n",
	})
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.sourceSet(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.EvalSymlinks(fakeSDK)
	if err != nil {
		t.Fatal(err)
	}
	want := watchSet{
		folders: []string{
			dir, dir + "/a", dir + "/internal", dir + "/internal/b",
			sdk, sdk + "/inspect", sdk + "/internal", sdk + "/internal/inspector", sdk + "/kopf", sdk + "/printable",
		},
		extra: []string{dir + "/a/page.html"},
	}
	if diff := cmp.Diff(want, set, cmp.AllowUnexported(watchSet{})); diff != "" {
		t.Error(diff)
	}
}
