package apidiff_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool has the command line of apidiff, for an API that is a list of names: a removed name breaks programs.
const tool = `#!/bin/sh
case $* in
-m\ -w*) cp names "$3" ;;
*) echo "Ignoring internal package x" >&2; grep -vxF -f "$4" "$3" | sed 's/$/: removed/' ;;
esac
`

// TestRun_DecidesByTheNextVersion commits the names a and b, tags them, and runs the script after a change of the names.
func TestRun_DecidesByTheNextVersion(t *testing.T) {
	dir := checkout(t)
	for _, test := range []struct {
		name, names, next string
		tags              []string
		want              string
		exit              int
	}{
		{"no release", "b\n", "", nil, "there is no release", 0},
		{"tags of other modules and prereleases are no releases", "b\n", "", []string{"v1.0.0", "sdk/metrics/v1.0.0", "sdk/v1.0.0-rc.1"}, "there is no release", 0},
		{"unchanged", "a\nb\n", "", []string{"sdk/v1.0.0"}, "compatible with sdk/v1.0.0", 0},
		{"added", "a\nb\nc\n", "v1.0.1", []string{"sdk/v1.0.0"}, "compatible with sdk/v1.0.0", 0},
		{"minor release from v1 on", "b\n", "", []string{"sdk/v1.2.0"}, "v1.3.0 must not have them", 1},
		{"major release", "b\n", "v2.0.0", []string{"sdk/v1.2.0"}, "v2.0.0 may have them", 0},
		{"first stable release", "b\n", "v1.0.0", []string{"sdk/v0.2.0"}, "v1.0.0 may have them", 0},
		{"minor release before v1", "b\n", "", []string{"sdk/v0.2.0"}, "v0.3.0 may have them", 0},
		{"patch release before v1", "b\n", "v0.2.1", []string{"sdk/v0.2.0"}, "or release v0.3.0", 1},
		{"newest by number", "b\n", "", []string{"sdk/v1.9.0", "sdk/v1.10.0"}, "since sdk/v1.10.0", 1},
		{"tagged already", "b\n", "v1.3.0", []string{"sdk/v1.2.0", "sdk/v1.3.0"}, "since sdk/v1.2.0", 1},
		{"no version", "b\n", "next", []string{"sdk/v1.2.0"}, "next is no version", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, tag := range test.tags {
				git(t, dir, "update-ref", "refs/tags/"+tag, "HEAD")
				t.Cleanup(func() { git(t, dir, "update-ref", "-d", "refs/tags/"+tag) })
			}
			put(t, filepath.Join(dir, "sdk", "names"), test.names)
			cmd := exec.Command(filepath.Join(dir, "hack", "apidiff", "run"), filepath.Join(dir, "tool"), test.next)
			out, err := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != test.exit || !strings.Contains(string(out), test.want) {
				t.Errorf("exit code %d (%v), want %d; printed %q, want %q", got, err, test.exit, out, test.want)
			}
			if breaks := strings.Contains(test.want, "them"); breaks && !strings.Contains(string(out), "\na: removed\n") {
				t.Errorf("the change is missing in %q", out)
			}
		})
	}
}

// checkout makes a repository with the script and one commit, and returns its folder.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("run")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "hack", "apidiff", "run"), string(script))
	put(t, filepath.Join(dir, "tool"), tool)
	put(t, filepath.Join(dir, "sdk", "names"), "a\nb\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "names")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
