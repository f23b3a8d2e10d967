package devcluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-dev/kopf/devcluster/internal/binary"
)

func TestOpen_FullDiskIsNamed(t *testing.T) {
	isolate(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("a full disk needs the permission to mount one; run this test as root:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("XDG_STATE_HOME", disk)
	program := filepath.Join(t.TempDir(), "controlplane")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat /dev/zero > \"$2/wal\"\nexit 1\n"), 0o755); err != nil { // $2 is the folder of the data
		t.Fatal(err)
	}
	t.Setenv(binary.EnvVar, program)
	_, err := Open(t.Context(), Options{Ephemeral: true})
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), disk) || !strings.HasSuffix(err.Error(), "is full: free some space there, and try again") {
		t.Errorf("the error is %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(disk, "*", "*", "*", "space-*")); err != nil || len(files) > 0 {
		t.Errorf("%q are left (%v)", files, err)
	}
}
