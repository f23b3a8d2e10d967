package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func put(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead_StatusOfDirectory(t *testing.T) {
	root := t.TempDir()
	if _, err := Read(filepath.Join(root, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that does not exist: %v", err)
	}
	put(t, filepath.Join(root, "fresh"), "output.log", "")
	put(t, filepath.Join(root, "old"), lockFile, `{"pid": 4711, "owner": 4710, "ephemeral": true}`)
	put(t, filepath.Join(root, "old"), readyFile, `{"pid": 4711, "server": "https://127.0.0.1:1"}`)
	put(t, root, "a file", "")
	all, err := List(root)
	if err != nil || len(all) != 2 {
		t.Fatalf("listed are %+v (%v)", all, err)
	}
	if s := all[0]; filepath.Base(s.Dir) != "fresh" || s.PID != 0 || s.Ready != nil || s.Usable() {
		t.Errorf("one that never ran is %+v", s)
	}
	// Process 4711, if it exists, does not hold the lock.
	if s := all[1]; s.PID != 0 || s.Holder != nil || s.Usable() || !s.Ephemeral || s.Ready.Server != "https://127.0.0.1:1" {
		t.Errorf("one that ran is %+v", s)
	}
	if none, err := List(filepath.Join(root, "nothing")); err != nil || none != nil {
		t.Errorf("no root: %v (%v)", none, err)
	}
}

func TestRead_ReportsInvalidState(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, lockFile, "{}")
	put(t, dir, readyFile, "nonsense")
	if _, err := Read(dir); err == nil {
		t.Error("there is no error")
	}
}
