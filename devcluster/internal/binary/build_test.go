package binary

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

func TestBuild_MissingToolchainExplainsNextStep(t *testing.T) {
	f := newFinder(t, small)
	t.Setenv("PATH", t.TempDir())
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrNoToolchain) || !strings.Contains(err.Error(), "install Go") || !strings.Contains(err.Error(), EnvVar) {
		t.Errorf("the error is %v", err)
	}
	expectCleanCache(t, f)
}

func TestBuild_ReportsCompileErrors(t *testing.T) {
	f := newFinder(t, map[string]string{"main.go": "package main\n\nfunc main() { nonsense() }\n"})
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "main.go:3:15: undefined: nonsense") {
		t.Errorf("the error is %v", err)
	}
	expectCleanCache(t, f)
}

func TestBuild_ReportsMissingModules(t *testing.T) {
	f := newFinder(t, map[string]string{"main.go": "package main\n\nimport _ \"example.invalid/x\"\n\nfunc main() {}\n"})
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "example.invalid/x") {
		t.Errorf("the error is %v", err)
	}
	expectCleanCache(t, f)
}

func TestBuild_CancelledLeavesNoFiles(t *testing.T) {
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
			expectCleanCache(t, f)
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

func TestBuild_DownloadsRelease(t *testing.T) {
	f := newFinder(t, nil)
	f.source = source{version: "v0.0.7"}
	t.Setenv("GOPROXY", "file://"+proxy(t, sourceModule, "v0.0.7", small))
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
		t.Errorf("got %q", got)
	}

	f.source.version = "v0.0.8"
	if _, err := f.find(t.Context()); !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "v0.0.8") {
		t.Errorf("one that does not exist: %v", err)
	}
}

// proxy makes a directory that serves as a module proxy of one module.
func proxy(t *testing.T, path, version string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(path), "@v", version)
	mod := "module " + path + "\n\ngo 1.26\n"
	put(t, at+".info", fmt.Sprintf(`{"Version": %q}`, version), 0o644)
	put(t, at+".mod", mod, 0o644)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, body string) {
		w, err := z.Create(path + "@" + version + "/" + name)
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

func TestBuildFlags_SetKubernetesVersion(t *testing.T) {
	flags, err := buildFlags(locateSource("").dir)
	if err != nil || !strings.Contains(strings.Join(flags, " "), "gitVersion=v1.") {
		t.Errorf("the flags are %q (%v)", flags, err)
	}
}
