package runner

import (
	"errors"
	"testing"
)

func TestWorkDir_SweepRemovesOnlyFoldersOfDeadProcesses(t *testing.T) {
	parent := t.TempDir()
	alive, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the end of its process does
		t.Fatal(err)
	}
	next, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{alive.path: true, dead.path: false, next.path: true} {
		if got := isDir(path); got != want {
			t.Errorf("%s exists: %t", path, got)
		}
	}
	if err := errors.Join(alive.remove(), next.remove()); err != nil {
		t.Error(err)
	}
}
