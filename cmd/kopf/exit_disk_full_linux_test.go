package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDisk returns a folder on a small disk that has no space left, except for small files to begin with.
func fullDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("a full disk needs the permission to mount one; run this test as root:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for {
		if _, err := filler.Write(make([]byte, 4096)); err != nil {
			return dir
		}
	}
}

func TestReport_FullDiskIsNamed(t *testing.T) {
	dir := fullDisk(t)
	var stderr bytes.Buffer
	code := execute(t.Context(), []string{"init", filepath.Join(dir, "operator")}, &bytes.Buffer{}, &stderr)
	if got := stderr.String(); code != exitFailure || !strings.Contains(got, "no space left on device; the disk of "+dir) || !strings.Contains(got, " is full: free some space there") {
		t.Errorf("exit code %d, %s", code, got)
	}
}

func TestReport_FullDiskOfOutputIsNamed(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	code := execute(t.Context(), []string{"version", "-o", "json"}, full, &stderr)
	if got := stderr.String(); code != exitFailure || !strings.Contains(got, "no space left on device; the disk is full: free some space") {
		t.Errorf("exit code %d, %s", code, got)
	}
}
