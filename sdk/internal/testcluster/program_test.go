package testcluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindProgram_ReturnsTheLastUsedOne(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "last": time.Minute, "older": 3 * time.Hour} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "controlplane"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(folder, at, at); err != nil {
			t.Fatal(err)
		}
	}
	program, err := newest(filepath.Join(dir, "*", "controlplane"))
	if want := filepath.Join(dir, "last", "controlplane"); err != nil || program != want {
		t.Errorf("%s, %v; want %s", program, err, want)
	}
}

func TestFindProgram_ErrorNamesTheSearchedPath(t *testing.T) {
	t.Setenv(BinaryVar, "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	_, err := findProgram()
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), filepath.Join("kopf", "controlplane")) {
		t.Error(err)
	}
}

func TestFindProgram_UsesTheEnvironmentVariable(t *testing.T) {
	t.Setenv(BinaryVar, "/somewhere/else")
	if program, err := findProgram(); program != "/somewhere/else" || err != nil {
		t.Error(program, err)
	}
}
