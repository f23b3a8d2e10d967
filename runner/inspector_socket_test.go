package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketsHaveShortPathsAndAreRemoved(t *testing.T) {
	near := t.TempDir()
	if len(near) > maxSocketDir {
		t.Skip("temporary folders have long paths here")
	}
	d, err := newSocketDir(near)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := d.next(), d.next(); first != "unix:"+filepath.Join(near, "1.sock") || first == second {
		t.Errorf("they are %s and %s", first, second)
	}
	if err := d.remove(); err != nil || !isDir(near) {
		t.Errorf("what belongs to others was removed, %v", err)
	}

	far, err := newSocketDir(strings.Repeat("x", maxSocketDir+1))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(far.path) != filepath.Clean(os.TempDir()) {
		t.Errorf("it is %s", far.path)
	}
	if err := far.remove(); err != nil || isDir(far.path) {
		t.Errorf("it has stayed, %v", err)
	}
}
