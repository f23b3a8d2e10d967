package binary

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newFinder searches in empty directories, for a small program that stands for the real one.
func newFinder(t *testing.T, files map[string]string) finder {
	t.Helper()
	return finder{
		executable: filepath.Join(t.TempDir(), "kopf"),
		cache:      filepath.Join(t.TempDir(), "cache"),
		source:     source{dir: newSource(t, files)},
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

func TestTheProgramOfTheEnvironmentGoesFirst(t *testing.T) {
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

func TestTheProgramBesideTheExecutableGoesSecond(t *testing.T) {
	for _, name := range []string{"controlplane", "kopf-controlplane"} {
		f := newFinder(t, small)
		beside := filepath.Join(filepath.Dir(f.executable), name)
		put(t, beside, "", 0o755)
		if got, err := f.find(t.Context()); err != nil || got != beside {
			t.Errorf("found is %q (%v)", got, err)
		}
	}
}

func TestTheProgramIsBuiltOnceFromTheCheckout(t *testing.T) {
	f := newFinder(t, small)
	var steps []Progress
	f.report = func(p Progress) { steps = append(steps, p) }
	first, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, first); got != "hello" {
		t.Errorf("it says %q", got)
	}
	last := steps[len(steps)-1]
	if last.Step != StepLink || last.Total < 2 || last.Done != last.Total {
		t.Errorf("the last step is %+v", last)
	}
	done := 0
	for _, s := range steps {
		if s.Step == StepCompile {
			if s.Done < done || s.Done > s.Total {
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
		t.Errorf("after a change it says %q", got)
	}
}

func TestTheKeyCoversWhatIsCompiledAndNothingElse(t *testing.T) {
	s := source{dir: newSource(t, small)}
	key := func() string {
		t.Helper()
		k, err := s.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	before := key()
	for _, name := range []string{"README.md", "main_test.go", "part/testdata/x.go", ".git/x.go"} {
		put(t, filepath.Join(s.dir, name), "x", 0o644)
		if key() != before {
			t.Errorf("%s changes the key", name)
		}
	}
	for _, name := range []string{"go.sum", "new.go", "go.mod"} {
		put(t, filepath.Join(s.dir, name), "x", 0o644)
		after := key()
		if after == before {
			t.Errorf("%s does not change the key", name)
		}
		before = after
	}
	if k, err := (source{version: "v1.2.3"}).key(); err != nil || !strings.HasPrefix(k, "v1.2.3-") {
		t.Errorf("the key of a release is %q (%v)", k, err)
	}
}

func TestOnlyReleasesCanBeFetched(t *testing.T) {
	main := func(path, version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}}
	}
	dependency := main("example.com/other", "v9.0.0")
	dependency.Deps = []*debug.Module{{Path: module, Version: "v0.3.0"}}
	replaced := main("example.com/other", "v9.0.0")
	replaced.Deps = []*debug.Module{{Path: module, Version: "v0.3.0", Replace: &debug.Module{Path: "../kopf"}}}
	for _, test := range []struct {
		title string
		info  *debug.BuildInfo
		want  string
	}{
		{"a release", main(module, "v0.2.0"), "v0.2.0"},
		{"a local build", main(module, "(devel)"), ""},
		{"a local build with changes", main(module, "v0.2.1-0.20260101000000-abcdef123456+dirty"), ""},
		{"a dependency of another program", dependency, "v0.3.0"},
		{"a replaced dependency", replaced, ""},
	} {
		if got := releasedVersion(test.info, true); got != test.want {
			t.Errorf("%s: %q", test.title, got)
		}
	}
}

func TestWithoutSourceOrVersionTheUserIsTold(t *testing.T) {
	f := newFinder(t, small)
	f.source = source{}
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), EnvVar) {
		t.Errorf("the error is %v", err)
	}
}

func TestThisTestRunsInACheckout(t *testing.T) {
	s := locateSource("/nowhere/kopf")
	if s.dir == "" || !isSource(s.dir) {
		t.Errorf("the source is %+v", s)
	}
	// A program that was built elsewhere is found by where it lies.
	root := t.TempDir()
	put(t, filepath.Join(root, "devcluster/controlplane/go.mod"), "module "+sourceModule+"\n", 0o644)
	put(t, filepath.Join(root, "other/devcluster/controlplane/go.mod"), "module example.com/x\n", 0o644)
	if isSource(filepath.Join(root, "other/devcluster/controlplane")) || !isSource(filepath.Join(root, "devcluster/controlplane")) {
		t.Error("the module's path is not what counts")
	}
}

func TestBuildsThatRaceWaitForEachOther(t *testing.T) {
	f := newFinder(t, small)
	var mu sync.Mutex
	waits, links := 0, 0
	f.report = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		switch p.Step {
		case StepWait:
			waits++
		case StepLink:
			links++
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			program, err := f.find(context.Background())
			if err != nil {
				t.Error(err)
			} else if !isProgram(program) {
				t.Errorf("%s is no program", program)
			}
		})
	}
	wg.Wait()
	if links != 1 || waits != 2 {
		t.Errorf("%d builds, %d waited", links, waits)
	}
}
