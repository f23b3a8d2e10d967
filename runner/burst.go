package runner

import (
	"maps"
	"slices"
	"time"
)

const (
	// quiet is how long the files must have been left alone before they are built:
	// editors write in several steps, and tools write many files.
	quiet = 50 * time.Millisecond

	// patience is how long a change waits for quiet at most.
	patience = 500 * time.Millisecond
)

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
