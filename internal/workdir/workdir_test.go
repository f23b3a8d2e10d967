package workdir

import (
	"errors"
	"os"
	"testing"
)

func TestNew_SweepRemovesOnlyFoldersOfDeadProcesses(t *testing.T) {
	parent := t.TempDir()
	alive, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the end of its process does
		t.Fatal(err)
	}
	next, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{alive.Path: true, dead.Path: false, next.Path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", path, err == nil, want)
		}
	}
	if err := errors.Join(alive.Remove(), next.Remove()); err != nil {
		t.Error(err)
	}
}
