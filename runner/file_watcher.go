package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// change is a burst of changes of files, such as a save.
type change struct {
	at    time.Time // time of the first change
	last  time.Time // time of the last change
	files []string  // paths of the changed files, sorted
}

// watcher reports changes in the source files of a program.
type watcher struct {
	notify  *fsnotify.Watcher
	sets    chan watchRequest
	changed chan change
	failed  chan error // errors about folders that cannot be watched
}

func newWatcher() (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the source files: %w", err)
	}
	return &watcher{
		notify:  notify,
		sets:    make(chan watchRequest),
		changed: make(chan change),
		failed:  make(chan error, 1),
	}, nil
}

// watchRequest asks the watcher to watch a set.
type watchRequest struct {
	watchSet
	watched chan struct{} // closed when the set is watched
}

// set replaces the watched set. When it returns, changes in the new set are reported.
func (w *watcher) set(ctx context.Context, s watchSet) {
	r := watchRequest{watchSet: s, watched: make(chan struct{})}
	select {
	case w.sets <- r:
		<-r.watched
	case <-ctx.Done():
	}
}

// run watches until the context is cancelled.
func (w *watcher) run(ctx context.Context) {
	defer func() {
		// An error of closing is irrelevant, because the watcher writes nothing.
		_ = w.notify.Close()
	}()
	burst := newBurst()
	defer burst.stop()
	watched := make(map[string]bool)
	extra := make(map[string]bool)
	for {
		var out chan change
		var latest change
		if burst.ended {
			out, latest = w.changed, change{at: burst.first, last: burst.last, files: burst.files()}
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
				// A new folder may become a package of the program; the next build checks this.
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
			// Events may have been lost, so rebuild.
			w.fail(err)
			burst.add("")
		case <-burst.timer.C:
			burst.ended = true
		case out <- latest:
			burst.reset()
		}
	}
}

// watch replaces the watched folders by the folders of the set, and returns the files that changed since the set's
// build but before their folder was watched.
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
			// An error means that the folder is deleted, which ends its watch.
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

// fail reports an error unless an earlier one is still unread.
func (w *watcher) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}
