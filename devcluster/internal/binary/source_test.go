package binary

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestSourceKey_CoversCompiledFilesOnly(t *testing.T) {
	s := source{dir: newSource(t, small)}
	key := func() string {
		t.Helper()
		k, err := s.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	before := key()
	for _, name := range []string{"README.md", "main_test.go", "part/testdata/x.go", ".git/x.go"} {
		put(t, filepath.Join(s.dir, name), "x", 0o644)
		if key() != before {
			t.Errorf("%s changes the key", name)
		}
	}
	for _, name := range []string{"go.sum", "new.go", "go.mod"} {
		put(t, filepath.Join(s.dir, name), "x", 0o644)
		after := key()
		if after == before {
			t.Errorf("%s does not change the key", name)
		}
		before = after
	}
	if k, err := (source{version: "v1.2.3"}).key(); err != nil || !strings.HasPrefix(k, "v1.2.3-") {
		t.Errorf("the key of a release is %q (%v)", k, err)
	}
}

func TestReleasedVersion_IgnoresLocalBuilds(t *testing.T) {
	main := func(path, version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}}
	}
	dependency := main("example.com/other", "v9.0.0")
	dependency.Deps = []*debug.Module{{Path: module, Version: "v0.3.0"}}
	replaced := main("example.com/other", "v9.0.0")
	replaced.Deps = []*debug.Module{{Path: module, Version: "v0.3.0", Replace: &debug.Module{Path: "../kopf"}}}
	for _, test := range []struct {
		title string
		info  *debug.BuildInfo
		want  string
	}{
		{"a release", main(module, "v0.2.0"), "v0.2.0"},
		{"a local build", main(module, "(devel)"), ""},
		{"a local build with changes", main(module, "v0.2.1-0.20260101000000-abcdef123456+dirty"), ""},
		{"a dependency of another program", dependency, "v0.3.0"},
		{"a replaced dependency", replaced, ""},
	} {
		if got := releasedVersion(test.info, true); got != test.want {
			t.Errorf("%s: %q", test.title, got)
		}
	}
}

func TestLocateSource_FindsCheckout(t *testing.T) {
	s := locateSource("/nowhere/kopf")
	if s.dir == "" || !isSource(s.dir) {
		t.Errorf("the source is %+v", s)
	}
	// A program that was built elsewhere is found by where it lies.
	root := t.TempDir()
	put(t, filepath.Join(root, "devcluster/controlplane/go.mod"), "module "+sourceModule+"\n", 0o644)
	put(t, filepath.Join(root, "other/devcluster/controlplane/go.mod"), "module example.com/x\n", 0o644)
	if isSource(filepath.Join(root, "other/devcluster/controlplane")) || !isSource(filepath.Join(root, "devcluster/controlplane")) {
		t.Error("the module's path is not what counts")
	}
}
