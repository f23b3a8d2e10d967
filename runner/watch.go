package runner

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long the files must have been left alone before they are built:
	// editors write in several steps, and tools write many files.
	quiet = 50 * time.Millisecond

	// patience is how long a change waits for quiet at most.
	patience = 500 * time.Millisecond
)

// watchSet is what a program is built from.
type watchSet struct {
	folders []string
	extra   []string // files that matter by themselves, such as embedded ones

	// since is when the build began that the set belongs to. Files in newly watched
	// folders that changed since were missed by it.
	since time.Time
}

// change is a burst of changes, such as a save.
type change struct {
	at    time.Time // of the first
	files []string  // their paths, sorted
}

// watcher tells of changes in the files of a program.
type watcher struct {
	notify  *fsnotify.Watcher
	sets    chan setRequest
	changed chan change
	failed  chan error // folders that cannot be watched; not fatal
}

func newWatcher() (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	return &watcher{
		notify:  notify,
		sets:    make(chan setRequest),
		changed: make(chan change),
		failed:  make(chan error, 1),
	}, nil
}

// setRequest asks for a set to be watched.
type setRequest struct {
	watchSet
	watched chan struct{} // closed when it is
}

// set replaces what is watched. When it returns, changes are noticed.
func (w *watcher) set(ctx context.Context, s watchSet) {
	r := setRequest{watchSet: s, watched: make(chan struct{})}
	select {
	case w.sets <- r:
		<-r.watched
	case <-ctx.Done():
	}
}

// run watches until the context ends.
func (w *watcher) run(ctx context.Context) {
	defer func() {
		// Nothing is written through it; there is nothing to lose.
		_ = w.notify.Close()
	}()
	burst := newBurst()
	defer burst.stop()
	watched := make(map[string]bool)
	extra := make(map[string]bool)
	for {
		var out chan change
		var news change
		if burst.over {
			out, news = w.changed, change{at: burst.first, files: burst.files()}
		}
		select {
		case <-ctx.Done():
			return
		case s := <-w.sets:
			extra = make(map[string]bool)
			for _, file := range s.extra {
				extra[file] = true
			}
			for _, missed := range w.watch(watched, s.watchSet) {
				burst.add(missed)
			}
			close(s.watched)
		case event := <-w.notify.Events:
			if event.Has(fsnotify.Create) && mayHavePackages(event.Name) && isDir(event.Name) {
				// A package that is being made; whether it matters is seen at the next build.
				if err := w.notify.Add(event.Name); err == nil {
					watched[event.Name] = true
				}
				burst.add(event.Name)
				continue
			}
			if event.Op != fsnotify.Chmod && (extra[event.Name] || isSource(event.Name)) {
				burst.add(event.Name)
			}
		case err := <-w.notify.Errors:
			// Events were lost: build rather once too often.
			w.fail(err)
			burst.add("")
		case <-burst.timer.C:
			burst.over = true
		case out <- news:
			burst.reset()
		}
	}
}

// watch makes the watched folders those of the set, and returns the files that changed
// while they were not watched.
func (w *watcher) watch(watched map[string]bool, s watchSet) []string {
	wanted := make(map[string]bool)
	for _, folder := range s.folders {
		wanted[folder] = true
	}
	for _, file := range s.extra {
		wanted[filepath.Dir(file)] = true
	}
	for folder := range watched {
		if !wanted[folder] {
			// It fails if the folder is gone, and then it is not watched any more either.
			_ = w.notify.Remove(folder)
			delete(watched, folder)
		}
	}
	var missed []string
	for folder := range wanted {
		if watched[folder] {
			continue
		}
		if err := w.notify.Add(folder); err != nil {
			w.fail(fmt.Errorf("%s: %w", folder, err))
			continue
		}
		watched[folder] = true
		missed = append(missed, changedSince(folder, s)...)
	}
	return missed
}

// fail tells of an error unless one is waiting to be heard already.
func (w *watcher) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// clockTick is how far the times of files may be behind the clock.
const clockTick = 20 * time.Millisecond

// changedSince returns the files in the folder that have changed since the build that the
// set belongs to.
func changedSince(folder string, s watchSet) []string {
	entries, err := os.ReadDir(folder)
	if err != nil || s.since.IsZero() {
		return nil // a folder that is gone again is noticed as an event
	}
	var files []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !isSource(path) && !slices.Contains(s.extra, path) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(s.since.Add(-clockTick)) {
			files = append(files, path)
		}
	}
	return files
}

// isSource tells that a file of this name can change what is built.
func isSource(path string) bool {
	name := filepath.Base(path)
	if isHidden(name) || strings.HasSuffix(name, "_test.go") {
		return false
	}
	switch filepath.Ext(name) {
	case ".go", ".s", ".S", ".c", ".cc", ".cpp", ".h", ".hh", ".syso", ".mod", ".sum", ".work":
		return true
	}
	return name == "modules.txt"
}

// isHidden tells names that the go command ignores; editors use them for their own files.
func isHidden(path string) bool {
	return strings.ContainsAny(filepath.Base(path)[:1], "._#")
}

// mayHavePackages tells that the go command would look for packages in a folder of this name.
func mayHavePackages(path string) bool {
	name := filepath.Base(path)
	return !isHidden(name) && name != "testdata" && name != "node_modules"
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// burst collects changes until they pause.
type burst struct {
	paths map[string]bool
	first time.Time
	timer *time.Timer
	over  bool
}

func newBurst() *burst {
	b := &burst{paths: make(map[string]bool), timer: time.NewTimer(time.Hour)}
	b.timer.Stop()
	return b
}

func (b *burst) add(path string) {
	if len(b.paths) == 0 {
		b.first = time.Now()
	}
	b.paths[path] = true
	b.over = false
	b.timer.Reset(max(0, min(quiet, patience-time.Since(b.first))))
}

func (b *burst) files() []string {
	files := slices.Sorted(maps.Keys(b.paths))
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

func (b *burst) reset() {
	clear(b.paths)
	b.over = false
}

func (b *burst) stop() { b.timer.Stop() }
