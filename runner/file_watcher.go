package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

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
