package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDev_PipePrintsWhyNotSettled(t *testing.T) {
	dir := operatorTree(t, "nonsense()")
	cmd, stdout, stderr := command(t, dir, "dev", ".", "--kubeconfig="+kubeconfig(t), "--until=settled")
	if got := code(t, cmd.Run()); got != 1 || !strings.HasPrefix(stderr.String(), "main.go:13:2: undefined: nonsense\n") {
		t.Errorf("%d, %s", got, stderr)
	}
	if !strings.Contains(stdout.String(), "build     failed") {
		t.Errorf("the stream is %s", stdout)
	}
}

func TestFindManifests_InPackageFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/crd.yaml", "b/b.go", "c/x.yml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := findManifests(dir, []string{"./a", "./b", "./c/...", filepath.Join(dir, "a"), "example.com/op"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "a"), filepath.Join(dir, "c")}, got); diff != "" {
		t.Error(diff)
	}
}
