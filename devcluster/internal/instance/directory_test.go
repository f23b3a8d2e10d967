package instance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// scriptFile writes a script that behaves as a control plane.
func scriptFile(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s exists (%v)", path, err)
	}
}

func TestStart_InterruptedEphemeralIsForgotten(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, "clusters", "short")
	ready := filepath.Join(state, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	// It has taken no lock yet, and has written nothing about itself.
	go func() {
		_, err := Start(ctx, Config{Binary: scriptFile(t, "touch "+dir+"/data "+ready+"; read line"), Dir: dir, Ephemeral: true})
		started <- err
	}()
	err := wait(t.Context(), func() (bool, error) {
		_, err := os.Stat(ready)
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Read(dir); err != nil || !s.Ephemeral || !s.Starting {
		t.Errorf("before the interrupt: %+v (%v)", s, err)
	}
	if err := Remove(dir); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("it can be deleted while it is started: %v", err)
	}
	cancel()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	gone(t, dir)
	left, err := os.ReadDir(state)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestRead_EphemeralOfKilledStarterIsNotStarting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "clusters", "short")
	begun, err := Config{Dir: dir, Ephemeral: true}.createDir()
	if err != nil {
		t.Fatal(err)
	}
	begun() // as the end of the process does
	if s, err := Read(dir); err != nil || !s.Ephemeral || s.Starting || s.PID != 0 {
		t.Errorf("%+v (%v)", s, err)
	}
	if err := Remove(dir); err != nil {
		t.Error(err)
	}
	gone(t, dir)
}

func TestStart_EphemeralTakesNoData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "clusters", "lab")
	if err := os.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{Binary: scriptFile(t, "exit 1"), Dir: dir, Ephemeral: true}); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(filepath.Dir(dir))); err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestClaim_OneProjectGetsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "clusters", "hello")
	for range 2 { // its own project may start it again
		begun, err := Config{Dir: dir, Project: "/a/hello"}.createDir()
		if err != nil {
			t.Fatal(err)
		}
		begun()
	}
	if _, err := (Config{Dir: dir, Project: "/b/hello"}).createDir(); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("another project: %v", err)
	}
	if s, err := Read(dir); err != nil || s.Project != "/a/hello" {
		t.Errorf("%+v (%v)", s, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestSweep_DeletesWhatKilledProcessesLeft(t *testing.T) {
	state := t.TempDir()
	for _, name := range []string{"deleted-lab-1-2", "starting-old", "starting-new", "clusters"} {
		if err := os.MkdirAll(filepath.Join(state, name, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * maxStarting)
	if err := os.Chtimes(filepath.Join(state, "starting-old"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(filepath.Join(state, "clusters")); err != nil {
		t.Fatal(err)
	}
	gone(t, filepath.Join(state, "deleted-lab-1-2"))
	gone(t, filepath.Join(state, "starting-old"))
	for _, kept := range []string{"starting-new", "clusters"} {
		if _, err := os.Stat(filepath.Join(state, kept)); err != nil {
			t.Error(err)
		}
	}
}
