package instance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// program writes a control plane that reports itself usable and then runs the script.
func program(t *testing.T, script string) Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "controlplane")
	text := "#!/bin/sh\necho '{\"server\": \"https://127.0.0.1:1\"}'\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Binary: path, Dir: filepath.Join(dir, "data")}
}

func TestProcessStop_IgnoresKilledProcess(t *testing.T) {
	p, err := Start(t.Context(), program(t, "kill -9 $$"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestProcessStop_StopsByGuard(t *testing.T) {
	p, err := Start(t.Context(), program(t, "trap 'exit 0' TERM; read line"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRemove_LeavesNoFiles(t *testing.T) {
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
