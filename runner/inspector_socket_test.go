package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketDir_HasShortPathAndIsRemoved(t *testing.T) {
	near := t.TempDir()
	if len(near) > maxSocketDir {
		t.Skipf("the temporary folder has a long path (%s); set TMPDIR to a shorter one", near)
	}
	d, err := newSocketDir(near)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := d.next(), d.next(); first != "unix:"+filepath.Join(near, "1.sock") || first == second {
		t.Errorf("the addresses are %s and %s", first, second)
	}
	if err := d.remove(); err != nil || !isDir(near) {
		t.Errorf("the caller's folder was removed, %v", err)
	}

	far, err := newSocketDir(strings.Repeat("x", maxSocketDir+1))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(far.path) != filepath.Clean(os.TempDir()) {
		t.Errorf("the folder is %s", far.path)
	}
	if err := far.remove(); err != nil || isDir(far.path) {
		t.Errorf("the temporary folder was not removed, %v", err)
	}
}
