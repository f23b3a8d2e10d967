package instance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStart_ControlPlaneDoesNotInheritSecrets(t *testing.T) {
	t.Setenv("MY_TOKEN", "secret")
	t.Setenv("KUBECONFIG", "/mine")
	t.Setenv("GOMAXPROCS", "2")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	seen := filepath.Join(dir, "environment")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nenv > "+seen+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{Binary: program, Dir: filepath.Join(dir, "data")}); err == nil {
		t.Fatal("the program has started")
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		// The shell itself sets some.
		if !slices.Contains(inherited, name) && !slices.Contains([]string{"PWD", "SHLVL", "_", "OLDPWD"}, name) {
			t.Errorf("the control plane has inherited %s", line)
		}
	}
	if !strings.Contains(string(text), "GOMAXPROCS=2\n") {
		t.Errorf("GOMAXPROCS is not inherited: %s", text)
	}
}

func TestEnvironment_EmptyIsNotAll(t *testing.T) {
	if got := environment([]string{"HOME=/root"}); got == nil || len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
