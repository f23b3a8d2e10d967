package binary

import (
	"os"
	"path/filepath"
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

func TestLocateSource_FindsCheckout(t *testing.T) {
	s := locateSource("/nowhere/kopf")
	if _, err := os.Stat(filepath.Join(s.dir, "go.mod")); s.dir == "" || err != nil {
		t.Errorf("the source is %+v (%v)", s, err)
	}
}
