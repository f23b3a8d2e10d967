package kopftest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSweepSocketDirs_RemovesThoseOfEndedProcesses(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "go", "version")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	left := fmt.Sprintf("kopftest-%d-1", ended.Process.Pid)
	kept := []string{fmt.Sprintf("kopftest-%d-2", os.Getpid()), "kopftest-mine", "kopftest-mine-too"}
	for _, name := range append(kept, left) {
		if err := os.MkdirAll(filepath.Join(parent, name, "inspector"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweepSocketDirs(parent)
	if _, err := os.Stat(filepath.Join(parent, left)); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(parent, name)); err != nil {
			t.Error(err)
		}
	}
}
