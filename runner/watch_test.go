package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// settleAt returns when a burst of additions, at the given times, is over.
func settleAt(t *testing.T, additions ...time.Duration) (over time.Duration) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		started := time.Now()
		b := newBurst()
		defer b.stop()
		for _, at := range additions {
			select {
			case <-time.After(at - time.Since(started)):
				b.add("x.go")
			case <-b.timer.C:
				over = time.Since(started)
				return
			}
		}
		<-b.timer.C
		over = time.Since(started)
	})
	return over
}

func TestABurstOfChangesIsOverWhenTheFilesAreLeftAlone(t *testing.T) {
	ms := time.Millisecond
	if got, want := settleAt(t, 0), quiet; got != want {
		t.Errorf("one change is over after %s, want %s", got, want)
	}
	if got, want := settleAt(t, 0, 30*ms, 60*ms), 60*ms+quiet; got != want {
		t.Errorf("three changes are over after %s, want %s", got, want)
	}
	var steady []time.Duration
	for at := time.Duration(0); at < 2*time.Second; at += 30 * ms {
		steady = append(steady, at)
	}
	if got := settleAt(t, steady...); got != patience {
		t.Errorf("changes without end are taken after %s, want %s", got, patience)
	}
}

func TestOnlyFilesThatCanChangeTheProgramCount(t *testing.T) {
	for name, want := range map[string]bool{
		"a.go": true, "dir/a.go": true, "asm.s": true, "go.mod": true, "go.sum": true, "go.work": true, "vendor/modules.txt": true,
		"a_test.go": false, ".#a.go": false, ".a.go.swp": false, "a.go~": false, "4913": false, "#a.go#": false, "_a.go": false, "README.md": false,
	} {
		if got := isSource(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// watching runs a watcher of the folder for the time of the test.
func watching(t *testing.T, set watchSet) *watcher {
	t.Helper()
	w, err := newWatcher()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	w.set(ctx, set)
	return w
}

func TestSavesAreNoticedInWhateverWayTheEditorWrites(t *testing.T) {
	for name, save := range map[string]func(t *testing.T, dir string){
		"in place": func(t *testing.T, dir string) { write(t, dir, "a.go", "package b\n") },
		"by an atomic rename": func(t *testing.T, dir string) {
			write(t, dir, ".a.go.tmp", "package b\n")
			if err := os.Rename(filepath.Join(dir, ".a.go.tmp"), filepath.Join(dir, "a.go")); err != nil {
				t.Fatal(err)
			}
		},
		"by removal and creation": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "a.go")); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "a.go", "package b\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.go", "package a\n")
			w := watching(t, watchSet{folders: []string{dir}})
			write(t, dir, "notes.txt", "does not count")
			save(t, dir)
			if diff := cmp.Diff([]string{filepath.Join(dir, "a.go")}, (<-w.changed).files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmbeddedFilesCountByTheirNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "data/page.html", "old")
	w := watching(t, watchSet{extra: []string{filepath.Join(dir, "data", "page.html")}})
	write(t, dir, "data/other.html", "new")
	write(t, dir, "data/page.html", "new")
	if diff := cmp.Diff([]string{filepath.Join(dir, "data", "page.html")}, (<-w.changed).files); diff != "" {
		t.Error(diff)
	}
}

func TestFilesSavedBeforeTheirFolderIsWatchedAreNotMissed(t *testing.T) {
	dir := t.TempDir()
	before := time.Now().Add(-time.Hour)
	write(t, dir, "a.go", "package a\n")
	write(t, dir, "old.go", "package a\n")
	if err := os.Chtimes(filepath.Join(dir, "old.go"), before, before); err != nil {
		t.Fatal(err)
	}
	w := watching(t, watchSet{folders: []string{dir}, since: before.Add(time.Minute)})
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.go")}, (<-w.changed).files); diff != "" {
		t.Error(diff)
	}
}

func TestAProgramsSourcesAreThoseOfItsModuleAndOfReplacedOnes(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":          "package a\n\nimport (\n\t_ \"embed\"\n\t\"example.com/op/internal/b\"\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\n//go:embed page.html\nvar page string\n\nfunc Register(*kopf.Registry) { b.B(page) }\n",
		"a/page.html":     "x",
		"internal/b/b.go": "package b\n\nfunc B(string) {}\n",
		"unused/u.go":     "package unused\n",
	})
	p, err := Load(t.Context(), dir, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.sourceSet(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.EvalSymlinks(standInSDK)
	if err != nil {
		t.Fatal(err)
	}
	want := watchSet{
		folders: []string{dir, dir + "/a", dir + "/internal", dir + "/internal/b", sdk, sdk + "/inspect", sdk + "/kopf"},
		extra:   []string{dir + "/a/page.html"},
	}
	if diff := cmp.Diff(want, set, cmp.AllowUnexported(watchSet{})); diff != "" {
		t.Error(diff)
	}
}
