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

func TestDev_LogFormatReplacesWorkbench(t *testing.T) {
	for _, test := range []struct {
		args     []string
		terminal bool
		want     bool
	}{
		{nil, true, true},
		{nil, false, false},
		{[]string{"--log-format=plain"}, true, false},
		{[]string{"--log-format=json"}, true, false},
		{[]string{"--quiet"}, true, true},
	} {
		cmd := newDevCommand()
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Fatal(err)
		}
		if got := showsWorkbench(cmd, test.terminal); got != test.want {
			t.Errorf("%q, terminal %t: got %t", test.args, test.terminal, got)
		}
	}
}

func TestDev_PlainAndJSONLines(t *testing.T) {
	dir, config := operatorTree(t, "nonsense()"), kubeconfig(t)
	for format, want := range map[string]string{"plain": "  build     failed", "json": `"noun":"build","state":"failed"`} {
		cmd, stdout, stderr := command(t, dir, "dev", ".", "--kubeconfig="+config, "--until=settled", "--log-format="+format)
		if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: %d, %s%s", format, got, stdout, stderr)
		}
	}
}

func TestPackageFolders_ExistAndAreNamedOnce(t *testing.T) {
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
	got := packageFolders(dir, []string{"./a", "./b", "./c/...", filepath.Join(dir, "a"), "example.com/op"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}, got); diff != "" {
		t.Error(diff)
	}
}
