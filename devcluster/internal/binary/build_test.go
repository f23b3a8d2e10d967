package binary

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// cacheIsClean checks that there is nothing but locks.
func cacheIsClean(t *testing.T, f finder) {
	t.Helper()
	entries, err := os.ReadDir(f.cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left in the cache", e.Name())
		}
	}
}

func TestWithoutAToolchainTheUserIsTold(t *testing.T) {
	f := newFinder(t, small)
	t.Setenv("PATH", t.TempDir())
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrNoToolchain) || !strings.Contains(err.Error(), "install Go") || !strings.Contains(err.Error(), EnvVar) {
		t.Errorf("the error is %v", err)
	}
	cacheIsClean(t, f)
}

func TestWhatDoesNotCompileIsShown(t *testing.T) {
	f := newFinder(t, map[string]string{"main.go": "package main\n\nfunc main() { nonsense() }\n"})
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "main.go:3:15: undefined: nonsense") {
		t.Errorf("the error is %v", err)
	}
	cacheIsClean(t, f)
}

func TestModulesThatCannotBeLoadedAreShown(t *testing.T) {
	f := newFinder(t, map[string]string{"main.go": "package main\n\nimport _ \"example.invalid/x\"\n\nfunc main() {}\n"})
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "example.invalid/x") {
		t.Errorf("the error is %v", err)
	}
	cacheIsClean(t, f)
}

func TestAnInterruptedBuildLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	f := newFinder(t, small)
	for _, step := range []string{StepDownload, StepCompile, StepLink} {
		t.Run(step, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f.report = func(p Progress) {
				if p.Step == step {
					cancel()
				}
			}
			if _, err := f.find(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			cacheIsClean(t, f)
			if left, err := filepath.Glob(filepath.Join(tmp, "go-build*")); err != nil || len(left) > 0 {
				t.Errorf("%q are left (%v)", left, err)
			}
		})
	}
	f.report = func(Progress) {}
	if _, err := f.find(t.Context()); err != nil {
		t.Errorf("the next build: %v", err)
	}
}

func TestAnInterruptEndsTheWholeProcessGroup(t *testing.T) {
	// A go command whose compiler does not care.
	bin := t.TempDir()
	pidFile := filepath.Join(bin, "pid")
	put(t, filepath.Join(bin, "go"), "#!/bin/sh\nsh -c 'trap \"\" INT TERM; echo $$ > "+pidFile+"; echo ready >&2; while :; do read x; done < "+fifo(t)+"' &\nwait\n", 0o755)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := builder{}.goCommand(ctx, "", func(string) bool { cancel(); return true }, "build")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	body, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(10 * time.Second)
	for alive(t, strings.TrimSpace(string(body))) {
		select {
		case <-deadline:
			t.Fatal("the compiler is still there")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestTheRemainsOfAKilledBuildAreRemoved(t *testing.T) {
	f := newFinder(t, small)
	key, err := f.source.key()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(f.cache, buildPrefix+key, programName), "half", 0o755)
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "hello" {
		t.Errorf("it says %q", got)
	}
}

func TestTheCacheIsPruned(t *testing.T) {
	f := newFinder(t, small)
	now := time.Now()
	for n := range keptPrograms + 2 {
		dir := filepath.Join(f.cache, fmt.Sprintf("old-%d", n))
		put(t, filepath.Join(dir, programName), "", 0o755)
		then := now.Add(-time.Duration(n+1) * time.Hour)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range keptPrograms + 2 {
		if kept := isProgram(filepath.Join(f.cache, fmt.Sprintf("old-%d", n), programName)); kept != (n < keptPrograms-1) {
			t.Errorf("old-%d: kept is %v", n, kept)
		}
	}
	if !isProgram(program) {
		t.Error("the new one is gone")
	}
}

func TestAReleaseIsFetchedAndBuilt(t *testing.T) {
	f := newFinder(t, nil)
	f.source = source{version: "v0.0.7"}
	t.Setenv("GOPROXY", "file://"+proxy(t, "v0.0.7", small))
	t.Setenv("GONOSUMDB", sourceModule)
	t.Setenv("GOFLAGS", "-modcacherw") // so that the test can clean up
	t.Setenv("GOMODCACHE", t.TempDir())
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(f.cache, "v0.0.7-"+runtime.GOOS+"-"+runtime.GOARCH, programName); program != want {
		t.Errorf("it is at %s", program)
	}
	if got := run(t, program); got != "hello" {
		t.Errorf("it says %q", got)
	}

	f.source.version = "v0.0.8"
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "v0.0.8") {
		t.Errorf("one that does not exist: %v", err)
	}
}

// proxy makes a directory that serves as a module proxy.
func proxy(t *testing.T, version string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(sourceModule), "@v", version)
	mod := "module " + sourceModule + "\n\ngo 1.26\n"
	put(t, at+".info", fmt.Sprintf(`{"Version": %q}`, version), 0o644)
	put(t, at+".mod", mod, 0o644)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, body string) {
		w, err := z.Create(sourceModule + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(body))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("go.mod", mod)
	for name, body := range files {
		add(name, body)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, at+".zip", b.String(), 0o644)
	return dir
}

func TestThePlanKnowsWhatIsCached(t *testing.T) {
	p := parsePlan("unsafe false\nfmt true\nexample.com/a true\nexample.com/main false\n")
	if p.total != 4 || p.cached != 1 || p.main != "example.com/main" || len(p.pending) != 3 || p.pending["unsafe"] {
		t.Errorf("it is %+v", p)
	}
}

func TestTheVersionOfKubernetesIsLinkedIn(t *testing.T) {
	flags, err := buildFlags(locateSource("").dir)
	if err != nil || !strings.Contains(strings.Join(flags, " "), "gitVersion=v1.") {
		t.Errorf("the flags are %q (%v)", flags, err)
	}
}

func TestALongErrorIsCut(t *testing.T) {
	w := lineWriter{seen: func(l string) bool { return l == "wanted" }}
	for n := range shownLines + 5 {
		fmt.Fprintf(&w, "wanted\n\nline %d\npar", n)
		fmt.Fprint(&w, "t\n")
	}
	fmt.Fprint(&w, "no newline")
	lines := strings.Split(w.err().Error(), "\n")
	if len(lines) != shownLines+1 || lines[0] != "line 0" || lines[1] != "part" || lines[shownLines] != "(and 31 lines more)" {
		t.Errorf("it is %q", lines)
	}
}
