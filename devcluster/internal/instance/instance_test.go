package instance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheRootFollowsTheXDGRules(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for state, want := range map[string]string{
		"":          "/home/me/.local/state/kopf/clusters",
		"/state":    "/state/kopf/clusters",
		"not/a/abs": "/home/me/.local/state/kopf/clusters",
	} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := Root(); err != nil || got != want {
			t.Errorf("%q: %q (%v)", state, got, err)
		}
	}
}

func put(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryTellsWhatRanThere(t *testing.T) {
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
	// The process 4711, if there is one, does not hold the lock.
	if s := all[1]; s.PID != 0 || s.Holder != nil || s.Usable() || !s.Ephemeral || s.Ready.Server != "https://127.0.0.1:1" {
		t.Errorf("one that ran is %+v", s)
	}
	if none, err := List(filepath.Join(root, "nothing")); err != nil || none != nil {
		t.Errorf("no root: %v (%v)", none, err)
	}
}

func TestBrokenStateIsReported(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, lockFile, "{}")
	put(t, dir, readyFile, "nonsense")
	if _, err := Read(dir); err == nil {
		t.Error("there is no error")
	}
}

func TestRemovingLeavesNothing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "clusters")
	dir := filepath.Join(root, "dev")
	put(t, filepath.Join(dir, "etcd"), "data", "")
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{root, filepath.Dir(root)} {
		if entries, err := os.ReadDir(d); err != nil || len(entries) > 1 || d == root && len(entries) > 0 {
			t.Errorf("%s has %v (%v)", d, entries, err)
		}
	}
	if err := Remove(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second time: %v", err)
	}
}

func TestNobodyWaitsForAProcessThatIsGone(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, lockFile, `{"pid": 4711}`)
	if _, err := Wait(t.Context(), dir); err == nil {
		t.Error("there is no error")
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Errorf("stopping it: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := wait(ctx, func() (bool, error) { return false, nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for nothing: %v", err)
	}
}
