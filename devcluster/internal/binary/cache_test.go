package binary

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCache_PrunesLeastRecentlyUsed(t *testing.T) {
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
		t.Error("the new program was deleted")
	}
}

func TestCache_RemovesFilesOfKilledBuild(t *testing.T) {
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
		t.Errorf("the program printed %q", got)
	}
}

func TestCache_RemovesAbandonedBuildsOfOtherSources(t *testing.T) {
	f := newFinder(t, small)
	abandoned, running := filepath.Join(f.cache, buildPrefix+"older"), filepath.Join(f.cache, buildPrefix+"other")
	put(t, filepath.Join(abandoned, programName), "half", 0o755)
	put(t, filepath.Join(running, programName), "half", 0o755)
	unlock, err := lock(t.Context(), filepath.Join(f.cache, "other.lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := f.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{abandoned: false, running: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %v", path, err)
		}
	}
}

// expectCleanCache checks that the cache has only lock files.
func expectCleanCache(t *testing.T, f finder) {
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

func TestCache_ConcurrentFindsBuildOnce(t *testing.T) {
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
				t.Errorf("%s is not a program", program)
			}
		})
	}
	wg.Wait()
	if links != 1 || waits != 2 {
		t.Errorf("%d builds, %d waited", links, waits)
	}
}
