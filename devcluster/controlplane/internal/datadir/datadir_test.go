package datadir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOpen_LockFileHasHolder(t *testing.T) {
	path := t.TempDir()
	// A longer text of an earlier process must not shine through.
	if err := os.WriteFile(filepath.Join(path, "lock"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path, Holder{PID: 7, Owner: 6, Started: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	// Not read with the lock's own process in mind: closing another handle would release it.
	var h Holder
	body := make([]byte, 1000)
	n, _ := d.lock.ReadAt(body, 0) // to the end
	if err := json.Unmarshal(body[:n], &h); err != nil || h.PID != 7 || h.Owner != 6 {
		t.Errorf("got %s (%v)", body[:n], err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestClose_DeletesEphemeralDirectory(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "new")} {
		d, err := Open(path, Holder{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.WriteFile("x", []byte("y")); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.Path()); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", d.Path(), err)
		}
	}
}

func TestOpen_EphemeralDirectoryMustBeNew(t *testing.T) {
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Holder{Ephemeral: true}); err == nil {
		t.Error("it was opened")
	}
}

func TestWriteFile_ReplacesContent(t *testing.T) {
	d, err := Open(t.TempDir(), Holder{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, body := range []string{"a long one", "short"} {
		if err := d.WriteFile("f", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(d.Path("f")); err != nil || string(got) != body {
			t.Errorf("got %q (%v)", got, err)
		}
	}
	if matches, err := filepath.Glob(d.Path("*.tmp")); err != nil || len(matches) > 0 {
		t.Errorf("%q are left (%v)", matches, err)
	}
}
