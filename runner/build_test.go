package runner

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newBuilder returns a Builder that is closed after the test.
func newBuilder(t *testing.T) *Builder {
	t.Helper()
	b, err := NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// build builds the patterns in the folder.
func build(t *testing.T, dir string, patterns ...string) (string, error) {
	t.Helper()
	p, err := Load(t.Context(), dir, patterns)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	return b.Build(t.Context(), p)
}

// listing returns the paths of everything in a folder.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBuilder_BuildLeavesUserFoldersUntouched(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":               handlers("a", `r.Fail("this is a")`),
		"b/internal/x/x.go":    handlers("x", `r.Fail("this is x")`),
		"b/internal/y/y.go":    handlers("y", ""),
		"prog/main.go":         handlers("main", `r.Fail("this is prog")`) + "\nvar operator, handlers0 int\n",
		"own/main.go":          "package main\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc main() { kopf.Main(func(r *kopf.Registry) { r.Fail(\"this is own\") }) }\n",
		"alias/alias.go":       "package alias\n\nimport k \"github.com/kopf-dev/kopf/sdk/kopf\"\n\ntype R = k.Registry\n\nfunc Register(r *R) { r.Fail(\"this is alias\") }\n",
		"deep/internal/z/z.go": handlers("z", `r.Fail("this is z")`),
	})
	before := listing(t, dir)
	for name, test := range map[string]struct {
		patterns []string
		says     string
	}{
		"a package":                  {[]string{"./a"}, "this is a"},
		"an internal package":        {[]string{"./deep/internal/z"}, "this is z"},
		"two internal packages":      {[]string{"./b/internal/x", "./b/internal/y"}, "this is x"},
		"a program without main":     {[]string{"./prog"}, "this is prog"},
		"a program and a package":    {[]string{"./prog", "./b/internal/y"}, "internal"}, // may not import it
		"a program with another":     {[]string{"./a", "./prog"}, "this is prog"},
		"a program with its main":    {[]string{"./own"}, "this is own"},
		"an alias only types can do": {[]string{"./alias"}, "this is alias"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := build(t, dir, test.patterns...)
			if err != nil {
				if !strings.Contains(err.Error(), test.says) {
					t.Error(err)
				}
				return
			}
			said, err := exec.CommandContext(t.Context(), path).CombinedOutput()
			if err == nil || !strings.Contains(string(said), test.says) {
				t.Errorf("the program printed %q, %v", said, err)
			}
		})
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the folder has changed: %s", diff)
	}
}

func TestBuilder_BuildStopsWithContext(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", "")})
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Build(ctx, p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// buildStatic builds a package into a separate file.
func buildStatic(t *testing.T, dir string) (path string) {
	t.Helper()
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	path = filepath.Join(t.TempDir(), "operator")
	if err := b.BuildStatic(t.Context(), p, Platform{}, path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestBuilder_MissingSDKNamesCheckout(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.com/op\n\ngo 1.26.0\n", "a/a.go": handlers("a", "")})
	for _, flags := range []string{"", "-mod=readonly"} {
		t.Setenv("GOFLAGS", flags)
		p, err := Load(t.Context(), dir, []string{"./a"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = newBuilder(t).Build(t.Context(), p)
		if want := "a/a.go:3:8: no required module provides the SDK; take it from your checkout of kopf with: go work init . CHECKOUT/sdk"; err == nil || err.Error() != want {
			t.Errorf("with GOFLAGS=%s, the error is %v", flags, err)
		}
	}
}

func TestBuilder_MissingOptionalModuleNamesCommand(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.com/op\n\ngo 1.26.0\n", "a/a.go": handlers("a", ""), "a/b.go": "package a\n\nimport _ \"github.com/kopf-dev/kopf/sdk/leaderelection\"\n"})
	for _, flags := range []string{"", "-mod=readonly"} {
		t.Setenv("GOFLAGS", flags)
		p, err := Load(t.Context(), dir, []string{"./a"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = newBuilder(t).Build(t.Context(), p)
		if want := "a/b.go:3:8: no required module provides sdk/leaderelection, which is a module of its own; add it with: go get github.com/kopf-dev/kopf/sdk/leaderelection; " +
			"or take it from your checkout of kopf with: go work use CHECKOUT/sdk/leaderelection"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with GOFLAGS=%s, the error is %v", flags, err)
		}
	}
}

func TestBuilder_InterruptedBuildLeavesNoTemporaryFolder(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", "")})
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	// A go command and a compiler that are killed before they clean up.
	bin, system := t.TempDir(), t.TempDir()
	ready := filepath.Join(bin, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ntrap '' INT\nmkdir ${GOTMPDIR:-$TMPDIR}/go-build1 $TMPDIR/go-link-1\necho > " + ready + "\nwhile :; do sleep 1; done\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", system)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	built := make(chan error, 1)
	go func() {
		_, err := b.Build(ctx, p)
		built <- err
	}()
	if _, err := os.ReadFile(ready); err != nil { // blocks until the script writes
		t.Fatal(err)
	}
	cancel()
	if err := <-built; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	for _, pattern := range []string{filepath.Join(system, "*"), filepath.Join(b.work.Path, "tmp-*")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("%q is left (%v)", left, err)
		}
	}
}

func TestBuildStatic_IsReproducibleInAnyFolder(t *testing.T) {
	files := map[string]string{"a/a.go": handlers("a", `r.Fail("this is a")`)}
	one, other := tree(t, files), tree(t, files)
	built := read(t, buildStatic(t, one))
	if !slices.Equal(built, read(t, buildStatic(t, other))) {
		t.Error("the two programs differ")
	}
	if strings.Contains(string(built), one) {
		t.Errorf("the program contains the path %s", one)
	}
}

// stamps returns the VCS settings recorded in a program, except the time.
func stamps(t *testing.T, path string) []string {
	t.Helper()
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range info.Settings {
		if key, ok := strings.CutPrefix(s.Key, "vcs."); ok && key != "time" {
			found = append(found, s.Value)
		}
	}
	return found
}

func TestBuildStatic_RecordsCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("the test needs git on the PATH; install it (%v)", err)
	}
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Fail("this is a")`)})
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "c")
	if got, want := stamps(t, buildStatic(t, dir)), []string{git("rev-parse", "HEAD"), "false"}; !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}

	// Without a readable commit, the build succeeds without a stamp.
	refusing := t.TempDir()
	if err := os.WriteFile(filepath.Join(refusing, "git"), []byte("#!/bin/sh\nexit 128\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", refusing+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if got := stamps(t, buildStatic(t, dir)); len(got) > 0 {
		t.Errorf("the stamps are %q", got)
	}
}

func TestBuildStatic_ReportsCompiledPackages(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", ""), "b/b.go": handlers("b", "nonsense")})
	b := newBuilder(t)
	for pattern, want := range map[string]string{"./a": "", "./b": "b/b.go:6:2: undefined: nonsense"} {
		p, err := Load(t.Context(), dir, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		reported := 0
		err = b.BuildStatic(t.Context(), p, Platform{}, filepath.Join(t.TempDir(), "operator"), func(packages int) { reported = packages })
		if reported == 0 || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %d packages, %v", pattern, reported, err)
		}
	}
}

func TestBuildStatic_ReplacesFileOnlyAfterSuccess(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Fail("this is a")`)})
	b := newBuilder(t)
	output := filepath.Join(t.TempDir(), "operator")
	static := func() error {
		p, err := Load(t.Context(), dir, []string{"./a"})
		if err != nil {
			t.Fatal(err)
		}
		return b.BuildStatic(t.Context(), p, Platform{}, output, nil)
	}
	if err := static(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(output).CombinedOutput(); err == nil || !strings.Contains(string(said), "this is a") {
		t.Errorf("the program printed %q, %v", said, err)
	}

	write(t, dir, "a/a.go", "package a\n\nfunc broken( {\n")
	if _, ok := errors.AsType[*BuildFailure](static()); !ok {
		t.Error("the build of a syntax error succeeded")
	}
	after, err := os.ReadFile(output)
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}
