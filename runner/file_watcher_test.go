package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// watching runs a watcher of the set until the end of the test.
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

func TestWatcher_ReportsSavesOfAllKindsOfEditors(t *testing.T) {
	for name, save := range map[string]func(t *testing.T, dir string){
		"in place": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package b\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
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
			write(t, dir, "notes.txt", "not a source file")
			save(t, dir)
			if diff := cmp.Diff([]string{filepath.Join(dir, "a.go")}, (<-w.changed).files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWatcher_ReportsEmbeddedFilesOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "data/page.html", "old")
	w := watching(t, watchSet{extra: []string{filepath.Join(dir, "data", "page.html")}})
	write(t, dir, "data/other.html", "new")
	write(t, dir, "data/page.html", "new")
	if diff := cmp.Diff([]string{filepath.Join(dir, "data", "page.html")}, (<-w.changed).files); diff != "" {
		t.Error(diff)
	}
}

func TestWatcher_ReportsFilesSavedBeforeWatching(t *testing.T) {
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
