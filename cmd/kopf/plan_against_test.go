package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/runner"
)

// git runs git in a folder, and returns the output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("the test needs git on the PATH; install it (%v)", err)
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestPlanBuild_ChecksOutARefWithoutChangingTheRepository(t *testing.T) {
	repository, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(repository, "apps", "op")
	file := filepath.Join(app, "op.go")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(app, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repository, "init", "-q")
	git(t, repository, "commit", "-q", "--allow-empty", "-m", "empty")
	git(t, repository, "tag", "empty")
	write("old")
	git(t, repository, "add", ".")
	git(t, repository, "commit", "-q", "-m", "old")
	write("new")
	before := git(t, repository, "status", "--porcelain=v2", "--branch") + git(t, repository, "worktree", "list")

	folder := t.TempDir()
	b := planBuild{name: "HEAD", dir: app}
	_, patterns, err := b.checkOut(t.Context(), folder, []string{"./...", app, "example.com/op"})
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "sources", "apps", "op")
	if text, err := os.ReadFile(filepath.Join(b.dir, "op.go")); err != nil || string(text) != "old" || b.dir != old || b.commit != git(t, repository, "rev-parse", "HEAD") {
		t.Errorf("%q, %v, %+v", text, err, b)
	}
	if want := []string{"./...", old, "example.com/op"}; !slices.Equal(patterns, want) {
		t.Errorf("got %q, want %q", patterns, want)
	}
	if after := git(t, repository, "status", "--porcelain=v2", "--branch") + git(t, repository, "worktree", "list"); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}

	for _, test := range []struct {
		ref, dir, pattern, want string
	}{
		{"v9", app, ".", "--against=v9 is no file, and no commit of " + repository},
		{"--upload-pack=x", app, ".", "no commit of"},
		{"HEAD", app, "../../../elsewhere", "../../../elsewhere is not in " + repository},
		{"HEAD", app, filepath.Dir(repository), "is not in " + repository},
		{"empty", app, ".", "--against=empty does not have the folder apps/op"},
		{"HEAD", t.TempDir(), ".", "this folder is in no git repository"},
	} {
		b := planBuild{name: test.ref, dir: test.dir}
		if _, _, err := b.checkOut(t.Context(), t.TempDir(), []string{test.pattern}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestPlanner_AFileIsTheOtherProgram(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", shortDir(t))
	file := filepath.Join(t.TempDir(), "HEAD") // also the name of a ref
	if err := os.WriteFile(file, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := planner{flags: &planFlags{against: file}}
	b, _, err := p.other(t.Context(), "/somewhere")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.binary)
	if err != nil || string(text) != "program" || b.dir != "/somewhere" || b.commit != "" {
		t.Errorf("%q, %v, %+v", text, err, b)
	}
	if info, err := os.Stat(b.binary); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	p.flags.against = "plan_against_test.go"
	if _, _, err := p.other(t.Context(), "/somewhere"); err == nil || !strings.Contains(err.Error(), "cannot be executed") {
		t.Error(err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(b.binary)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestPlanner_LooksForTheRefBeforeTheBuilds(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", shortDir(t))
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	p := planner{flags: &planFlags{against: "v9"}, patterns: []string{"./does-not-compile"}}
	if err := p.builds(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "--against=v9 is no file, and no commit of") {
		t.Error(err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPlanner_NamesTheWayOutOfAnIgnoredWorkspace compares with a ref that finds the SDK only by a go.work that git ignores.
func TestPlanner_NamesTheWayOutOfAnIgnoredWorkspace(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", shortDir(t))
	t.Setenv("GOWORK", "")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	for name, text := range map[string]string{
		".gitignore": "go.work\n", "go.work": "go 1.26.0\n\nuse (\n\t./op\n\t/the/checkout/sdk\n)\n", "op/go.mod": "module example.com/op\n\ngo 1.26.0\n",
		"op/op.go": "package op\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc Register(*kopf.Registry) {}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "old")
	said := func() string {
		t.Helper()
		var lines []string
		p := planner{flags: &planFlags{against: "HEAD"}, patterns: []string{"."}, say: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
		p.build.binary = "built"
		if p.builder, err = runner.NewBuilder(); err != nil {
			t.Fatal(err)
		}
		err := p.builds(t.Context(), filepath.Join(dir, "op"))
		if _, ok := errors.AsType[*runner.BuildFailure](err); !ok {
			t.Errorf("the build of the ref ends with %v", err)
		}
		if err := p.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	work := filepath.Join(dir, "go.work")
	if got, want := said(), "--against=HEAD does not build. The build has no files that git ignores, such as "+work+"\ncommit it (git add -f "+work+"), or use replace in go.mod; "; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.Remove(work); err != nil {
		t.Fatal(err)
	}
	if got, want := said(), "--against=HEAD does not build. The build has no files that git ignores:"; got != want {
		t.Errorf("without a go.work: got %s, want %s", got, want)
	}
}

// comparedOperator is the code of an operator with a duration from another module of its repository. The placeholder %s stands for the code
// that differs between two builds.
const comparedOperator = `package op

import (
	"context"
	"crypto/rand"

	"example.com/limits"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), extend)
}

func extend(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	field, duration := kopf.GetOr(c.Object, "spec.field", ""), limits.Duration
	%s
	c.Patch.Set("spec.duration", duration)
	c.Patch.Set("spec.token", rand.Text())
	return nil
}
`

func TestE2E_PlanAgainstAnotherBuild(t *testing.T) {
	dir, env, put := moduleOfOperator(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	work, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "limits"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	write("go.work", strings.Replace(string(work), "\t.\n", "\t.\n\t./limits\n", 1))
	write("limits/go.mod", "module example.com/limits\n\ngo 1.26.0\n")
	write("limits/limits.go", "package limits\n\nconst Duration = \"1h\"\n")
	put(fmt.Sprintf(comparedOperator, "_ = field"))
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "old")
	write("limits/limits.go", "package limits\n\nconst Duration = \"2h\"\n")
	put(fmt.Sprintf(comparedOperator, `switch field {
	case "same":
		duration = "1h"
	case "x":
		return kopf.Permanentf("x is refused")
	}`))

	s := newPlanSource(t)
	var objects string
	for _, name := range []string{"a", "b", "x", "same"} {
		objects += fmt.Sprintf("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: %s}\nspec: {duration: 1m, field: %s}\n---\n", name, name)
	}
	s.apply("default", s.manifest(objects))
	cache := shortDir(t)
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env[1:], "GOWORK=", "XDG_CACHE_HOME="+cache, "GOCACHE="+strings.TrimSpace(string(goCache)))
	leftovers := func() []string {
		t.Helper()
		var all []string
		for _, parent := range []string{"plans", "operators"} {
			found, err := filepath.Glob(filepath.Join(cache, "kopf", parent, "run-*"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, found...)
		}
		return all
	}

	args := []string{"plan", ".", "-n", "default", "--against=HEAD", "--exit-code", "-o", "json"}
	cmd, stdout, stderr := s.command(dir, args...)
	cmd.Env = append(cmd.Env, env...)
	exit := code(t, cmd.Run())
	var plan shapes.Plan
	if err := json.Unmarshal(stdout.Bytes(), &plan); err != nil || exit != exitFailures || plan.Against == nil {
		t.Fatalf("%v: %d, %s%s", err, exit, stdout, stderr)
	}
	var got []string
	for _, d := range plan.Against.Differences {
		got = append(got, fmt.Sprint(d.Verdict, " ", d.Objects, " ", d.Changes))
	}
	for i, want := range []string{
		`newlyFails [default/x] [~ handler extend create: succeeds → fails + handler extend create error: {name} is refused`,
		`differs [default/a default/b] [~ kopfexamples.v1.kopf.dev {namespace}/{name} spec.duration: "1h" → "2h"]`,
	} {
		if len(got) != 2 || !strings.HasPrefix(got[i], want) {
			t.Errorf("got %s, want %s", strings.Join(got, "\n"), want)
		}
	}
	noise := []string{"kopfexamples.v1.kopf.dev {namespace}/{name} spec.token"}
	if plan.Against.AsBefore != 1 || !slices.Equal(plan.Against.Noise, noise) || plan.Against.Ended != "" {
		t.Errorf("%+v", plan.Against)
	}
	if want := []shapes.HandlerDifference{{IDs: []string{"extend"}, Old: "1", New: "1", Differs: true}}; !reflect.DeepEqual(plan.Against.Handlers, want) {
		t.Errorf("the versions are %+v", plan.Against.Handlers)
	}
	if all := leftovers(); len(all) > 0 {
		t.Errorf("the command has left %q", all)
	}

	cmd, stdout, stderr = s.command(dir, args...)
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the files of the ref", func() bool {
		found, err := filepath.Glob(filepath.Join(cache, "kopf", "plans", "*", "sources", "op.go"))
		return err == nil && len(found) > 0
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if exit, all := code(t, cmd.Wait()), leftovers(); exit != 130 || len(all) > 0 {
		t.Errorf("an interrupted command ended with %d, and left %q: %s%s", exit, all, stdout, stderr)
	}
}
