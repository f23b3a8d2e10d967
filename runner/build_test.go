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
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newBuilder makes a builder for the test.
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

// listing is all that is in a folder.
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

func TestProgramsAreBuiltWithoutWritingIntoTheTree(t *testing.T) {
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
				t.Errorf("it says %q, %v", said, err)
			}
		})
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the tree has changed: %s", diff)
	}
}

func TestTheCompilersListIsTakenApart(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":         handlers("a", "undefinedOne()\n\tvar n int = \"text\""),
		"syntax/s.go":    handlers("syntax", "if {"),
		"import/i.go":    "package i\n\nimport (\n\t\"example.com/nowhere\"\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\nfunc Register(*kopf.Registry) { nowhere.Go() }\n",
		"value/value.go": "package value\n\nimport k \"github.com/kopf-dev/kopf/sdk/kopf\"\n\ntype R k.Registry\n\nfunc Register(r *R) {}\n",
	})
	for name, test := range map[string]struct {
		pattern string
		want    []string // the beginnings of the lines
	}{
		"types":              {"./a", []string{"a/a.go:6:2: undefined: undefinedOne", "a/a.go:7:6: declared and not used: n", "a/a.go:7:14: cannot use \"text\""}},
		"syntax":             {"./syntax", []string{"syntax/s.go:6:5: syntax error: missing condition in if statement"}},
		"a missing module":   {"./import", []string{"import/i.go:4:2: "}},
		"not quite Register": {"./value", []string{"Register must be func(*kopf.Registry), with kopf from \"" + sdkPackage + "\": cannot use r"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, dir, test.pattern)
			failure, ok := errors.AsType[*BuildFailure](err)
			if !ok {
				t.Fatal(err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(failure.Errors) != len(test.want) {
				t.Fatalf("got %s", err)
			}
			for i, want := range test.want {
				if got := failure.Errors[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("line %d is %q, want %q", i, got, want)
				}
			}
			for _, line := range lines {
				if strings.HasPrefix(line, "#") || strings.Contains(line, mainFolder) {
					t.Errorf("%q says nothing to the user", line)
				}
			}
		})
	}
}

func TestModulesThatGoSumLacksAreOneErrorWithItsRemedy(t *testing.T) {
	text := `# example.com/op/a
a/a.go:6:2: undefined: create
/sdk/x.go:8:2: missing go.sum entry for module providing package k8s.io/client-go/rest (imported by github.com/kopf-dev/kopf/sdk/kopf); to add:
	go get github.com/kopf-dev/kopf/sdk/kopf@v0.1.0
/sdk/y.go:4:2: missing go.sum entry for module providing package sigs.k8s.io/json (imported by github.com/kopf-dev/kopf/sdk/kopf); to add:
	go get github.com/kopf-dev/kopf/sdk/kopf@v0.1.0`
	failure := &BuildFailure{Errors: shortenMissingSums(parseBuildErrors(text))}
	want := "a/a.go:6:2: undefined: create\ngo.sum lacks modules that the packages need; add them with: go mod tidy"
	if got := failure.Error(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestABrokenGoModIsReportedWithItsLine(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.com/op\n\nnonsense here\n", "a/a.go": handlers("a", "")})
	_, err := Load(t.Context(), dir, []string{"./a"})
	failure, ok := errors.AsType[*BuildFailure](err)
	if !ok || !strings.Contains(err.Error(), "go.mod:3: unknown directive: nonsense") {
		t.Fatalf("%v, %+v", err, failure)
	}
}

func TestErrorsShowTheLinesAroundThem(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": "1\n2\n3\n4\n5\n6"})
	list := []BuildError{{File: "a/a.go", Line: 1}, {File: "a/a.go", Line: 4}, {File: "a/a.go", Line: 6}, {File: "a/a.go", Line: 99}, {Message: "without"}}
	addSource(list, dir)
	var got [][]string
	for _, e := range list {
		got = append(got, e.Source)
	}
	want := [][]string{{"1", "2", "3"}, {"2", "3", "4", "5", "6"}, {"4", "5", "6"}, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list[0].SourceAt != 1 || list[1].SourceAt != 2 {
		t.Errorf("they begin at %d and %d", list[0].SourceAt, list[1].SourceAt)
	}
}

func TestErrorsAreWrittenWithAsMuchOfTheirPlaceAsIsKnown(t *testing.T) {
	for want, e := range map[string]BuildError{
		"m":            {Message: "m"},
		"go.mod: m":    {File: "go.mod", Message: "m"},
		"go.mod:3: m":  {File: "go.mod", Line: 3, Message: "m"},
		"a.go:3:14: m": {File: "a.go", Line: 3, Column: 14, Message: "m"},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestABuildEndsWithItsContext(t *testing.T) {
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

func TestFoldersOfDeadProcessesAreSweptAndOthersAreNot(t *testing.T) {
	parent := t.TempDir()
	alive, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // what its process's end would do
		t.Fatal(err)
	}
	next, err := newWorkDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{alive.path: true, dead.path: false, next.path: true} {
		if got := isDir(path); got != want {
			t.Errorf("%s is there: %t", path, got)
		}
	}
	if err := errors.Join(alive.remove(), next.remove()); err != nil {
		t.Error(err)
	}
}

func TestASyntaxErrorAheadOfRegisterIsTheCompilersToReport(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go": "package a\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nvar broken = \"\n\nfunc Register(r *kopf.Registry) {}\n",
	})
	_, err := build(t, dir, "./a")
	failure, ok := errors.AsType[*BuildFailure](err)
	if !ok {
		t.Fatal(err)
	}
	if len(failure.Errors) == 0 || failure.Errors[0].Line != 5 {
		t.Errorf("got %s", err)
	}
}

// buildStatic builds a package into a file of its own.
func buildStatic(t *testing.T, dir string) (path string) {
	t.Helper()
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	path = filepath.Join(t.TempDir(), "operator")
	if err := b.BuildStatic(t.Context(), p, path, nil); err != nil {
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

func TestTheSameSourcesAreTheSameStaticProgramEverywhere(t *testing.T) {
	files := map[string]string{"a/a.go": handlers("a", `r.Fail("this is a")`)}
	one, other := tree(t, files), tree(t, files)
	built := read(t, buildStatic(t, one))
	if !slices.Equal(built, read(t, buildStatic(t, other))) {
		t.Error("they differ")
	}
	if strings.Contains(string(built), one) {
		t.Errorf("it tells that it was built in %s", one)
	}
}

// stamps are what a program tells of the commit that it was built of.
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

func TestAStaticProgramTellsOfWhichCommitItIs(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("git is not on the PATH, and the test makes a repository: install it (%v)", err)
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

	// If it is not to be known, there is a program nevertheless.
	refusing := t.TempDir()
	if err := os.WriteFile(filepath.Join(refusing, "git"), []byte("#!/bin/sh\nexit 128\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", refusing+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if got := stamps(t, buildStatic(t, dir)); len(got) > 0 {
		t.Errorf("it tells %q", got)
	}
}

func TestLongBuildsTellHowFarTheyAre(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", ""), "b/b.go": handlers("b", "nonsense")})
	b := newBuilder(t)
	for pattern, want := range map[string]string{"./a": "", "./b": "b/b.go:6:2: undefined: nonsense"} {
		p, err := Load(t.Context(), dir, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		err = b.BuildStatic(t.Context(), p, filepath.Join(t.TempDir(), "operator"), func(packages int) { told = packages })
		if told == 0 || want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %d packages, %v", pattern, told, err)
		}
	}
}

func TestAStaticProgramReplacesItsFileOnlyWhenItIsBuilt(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Fail("this is a")`)})
	b := newBuilder(t)
	output := filepath.Join(t.TempDir(), "operator")
	static := func() error {
		p, err := Load(t.Context(), dir, []string{"./a"})
		if err != nil {
			t.Fatal(err)
		}
		return b.BuildStatic(t.Context(), p, output, nil)
	}
	if err := static(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(output).CombinedOutput(); err == nil || !strings.Contains(string(said), "this is a") {
		t.Errorf("it says %q, %v", said, err)
	}

	write(t, dir, "a/a.go", "package a\n\nfunc broken( {\n")
	if _, ok := errors.AsType[*BuildFailure](static()); !ok {
		t.Error("a syntax error has been built")
	}
	after, err := os.ReadFile(output)
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}
