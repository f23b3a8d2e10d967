package binary

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// newFinder returns a finder with empty directories, and the source of a small program in place
// of the control plane.
func newFinder(t *testing.T, files map[string]string) finder {
	t.Helper()
	return finder{
		executable: filepath.Join(t.TempDir(), "kopf"),
		cache:      filepath.Join(t.TempDir(), "cache"),
		source:     source{dir: newSource(t, files)},
		releases:   noReleases,
		report:     func(Progress) {},
	}
}

func newSource(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module "+sourceModule+"\n\ngo 1.26\n", 0o644)
	for name, body := range files {
		put(t, filepath.Join(dir, name), body, 0o644)
	}
	return dir
}

func put(t *testing.T, path, body string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), mode); err != nil {
		t.Fatal(err)
	}
}

var small = map[string]string{
	"main.go":      "package main\n\nimport \"" + sourceModule + "/part\"\n\nfunc main() { println(part.Word) }\n",
	"part/part.go": "package part\n\nconst Word = \"hello\"\n",
}

func run(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("running %s: %v", program, err)
	}
	return strings.TrimSpace(string(out))
}

func TestFind_EnvironmentVariableFirst(t *testing.T) {
	f := newFinder(t, small)
	f.override = filepath.Join(t.TempDir(), "mine")
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), f.override) {
		t.Errorf("one that is missing: %v", err)
	}
	put(t, f.override, "", 0o644)
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("one that cannot be executed: %v", err)
	}
	put(t, f.override+"2", "", 0o755)
	f.override += "2"
	if got, err := f.find(t.Context()); err != nil || got != f.override {
		t.Errorf("found is %q (%v)", got, err)
	}
}

func TestFind_NextToExecutableSecond(t *testing.T) {
	for _, name := range []string{"controlplane", "kopf-controlplane"} {
		f := newFinder(t, small)
		path := filepath.Join(filepath.Dir(f.executable), name)
		put(t, path, "", 0o755)
		if got, err := f.find(t.Context()); err != nil || got != path {
			t.Errorf("found is %q (%v)", got, err)
		}
	}
}

func TestFind_BuildsCheckoutOnce(t *testing.T) {
	f := newFinder(t, small)
	var steps []Progress
	f.report = func(p Progress) { steps = append(steps, p) }
	first, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, first); got != "hello" {
		t.Errorf("the program printed %q", got)
	}
	last := steps[len(steps)-1]
	if last.Step != StepLink || last.Total < 2 || last.Done != last.Total {
		t.Errorf("the last step is %+v", last)
	}
	done := 0
	for _, s := range steps {
		if s.Step == StepCompile {
			if s.Done < done || s.Done > s.Total || s.Remaining <= 0 {
				t.Errorf("%+v comes after %d", s, done)
			}
			done = s.Done
		}
	}

	steps = nil
	if again, err := f.find(t.Context()); err != nil || again != first || len(steps) > 0 {
		t.Errorf("the second time it is %q after %v (%v)", again, steps, err)
	}

	put(t, filepath.Join(f.source.dir, "part/part.go"), "package part\n\nconst Word = \"changed\"\n", 0o644)
	changed, err := f.find(t.Context())
	if err != nil || changed == first {
		t.Fatalf("after a change it is %q (%v)", changed, err)
	}
	if got := run(t, changed); got != "changed" {
		t.Errorf("after a change the program printed %q", got)
	}
}

func TestFind_WithoutSourceExplainsNextStep(t *testing.T) {
	f := newFinder(t, small)
	f.source = source{}
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), EnvVar) {
		t.Errorf("the error is %v", err)
	}
}
