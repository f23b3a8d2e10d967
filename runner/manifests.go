package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"

	"github.com/kopf-dev/kopf/runner/settlement"
)

// findManifests returns the files and folders that [IntentApply] applies: the manifests of the options or, without them,
// the folders of packages that contain manifests.
func (o *Options) findManifests() []string {
	if len(o.Manifests) > 0 {
		return o.Manifests
	}
	var found []string
	for _, folder := range o.ManifestFolders {
		entries, err := os.ReadDir(folder)
		if err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isManifest(e.Name()) }) {
			found = append(found, folder)
		}
	}
	return found
}

// isManifest reports whether a file with this name is a manifest. JSON files in folders do not count, because other tools
// also use them.
func isManifest(path string) bool {
	ext := filepath.Ext(path)
	return !isHidden(path) && (ext == ".yaml" || ext == ".yml")
}

// manifestWatcher reports which manifests are saved.
type manifestWatcher struct {
	notify  *fsnotify.Watcher
	files   map[string]bool // named manifest files
	folders map[string]bool // folders whose manifests are applied
	saved   chan []string   // absolute paths
	failed  chan error      // errors after which saved manifests may be missed; at most one error is pending
}

// newManifestWatcher returns a watcher of the manifests of a session. It skips paths that cannot be watched, because
// applying them reports the error.
func newManifestWatcher(o Options) (*manifestWatcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the manifests: %w", err)
	}
	w := &manifestWatcher{notify: notify, files: map[string]bool{}, folders: map[string]bool{}, saved: make(chan []string), failed: make(chan error, 1)}
	paths := o.Manifests
	if len(paths) == 0 {
		paths = o.ManifestFolders
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.Dir, path)
		}
		path = filepath.Clean(path)
		if isDir(path) {
			w.folders[path] = true
		} else {
			w.files[path] = true
			path = filepath.Dir(path) // editors replace files
		}
		_ = notify.Add(path)
	}
	return w, nil
}

// run watches until the context is cancelled.
func (w *manifestWatcher) run(ctx context.Context) {
	defer func() { _ = w.notify.Close() }() // an error of closing is irrelevant, because the watcher writes nothing
	burst := newBurst()
	defer burst.stop()
	for {
		var out chan []string
		var files []string
		if burst.ended {
			out, files = w.saved, burst.files()
		}
		select {
		case <-ctx.Done():
			return
		case event := <-w.notify.Events:
			if event.Op != fsnotify.Chmod && w.watches(event.Name) {
				burst.add(event.Name)
			}
		case err := <-w.notify.Errors:
			select {
			case w.failed <- err:
			default: // the previous error has not been read yet
			}
		case <-burst.timer.C:
			burst.ended = true
		case out <- files:
			burst.reset()
		}
	}
}

func (w *manifestWatcher) watches(path string) bool {
	return w.files[path] || w.folders[filepath.Dir(path)] && isManifest(path)
}

// handleSavedManifests offers to apply files that were saved, as long as they exist. Files that were applied before are
// applied again, if the cluster is one for that.
func (l *loop) handleSavedManifests(files []string) {
	if l.opts.NoReload {
		return
	}
	l.store.update(func(s *State) {
		saved := slices.Concat(s.SavedManifests, files)
		slices.Sort(saved)
		s.SavedManifests = slices.DeleteFunc(slices.Compact(saved), func(path string) bool {
			_, err := os.Stat(path)
			return err != nil
		})
		s.Manifests = l.opts.findManifests()
	})
	l.reapplySaved()
}

// reapplySaved applies the manifests that were saved since they were applied, one application at a time.
func (l *loop) reapplySaved() {
	saved := l.State().SavedManifests
	if len(saved) == 0 || !l.reapplies || l.applying || l.cluster == nil || l.initial.next != settlement.StageNone || l.opts.Reapplies == nil || !l.opts.Reapplies(*l.cluster) {
		return
	}
	l.apply(saved, settlement.Part{}, nil)
}
