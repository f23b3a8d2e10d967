package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketDir_HasShortPathAndIsRemoved(t *testing.T) {
	near := t.TempDir()
	if len(near) > maxSocketDir {
		t.Skipf("the temporary folder has a long path (%s); set TMPDIR to a shorter one", near)
	}
	d, err := newSocketDir(near, "")
	if err != nil {
		t.Fatal(err)
	}
	if first, second := d.next(), d.next(); first != "unix:"+filepath.Join(near, "1.sock") || first == second {
		t.Errorf("the addresses are %s and %s", first, second)
	}
	if err := d.remove(); err != nil || !isDir(near) {
		t.Errorf("the caller's folder was removed, %v", err)
	}

	far, err := newSocketDir(strings.Repeat("x", maxSocketDir+1), "")
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

func TestSweepSocketDirs_RemovesThoseOfKilledProcesses(t *testing.T) {
	parent := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		fmt.Sprintf("kopf-%d-123", dead.Process.Pid): false,
		fmt.Sprintf("kopf-%d-123", os.Getpid()):      true,
		"kopf-e2e-123":                               true,
		"kopf-0-123":                                 true,
	} {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		sweepSocketDirs(parent)
		if got := isDir(path); got != want {
			t.Errorf("%s exists: %t", name, got)
		}
	}
}
