package runner

import (
	"maps"
	"slices"
	"time"
)

const (
	// quietPeriod is the time without changes of files before a rebuild is triggered, because editors save in several
	// steps, and tools write many files.
	quietPeriod = 50 * time.Millisecond

	// maxBurst is the maximal delay of a rebuild while files keep changing.
	maxBurst = 500 * time.Millisecond
)

// burst collects changes of files until no file has changed for the quietPeriod.
type burst struct {
	paths map[string]bool
	first time.Time
	last  time.Time
	timer *time.Timer
	ended bool
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
	b.last = time.Now()
	b.paths[path] = true
	b.ended = false
	b.timer.Reset(max(0, min(quietPeriod, maxBurst-time.Since(b.first))))
}

func (b *burst) files() []string {
	files := slices.Sorted(maps.Keys(b.paths))
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

func (b *burst) reset() {
	clear(b.paths)
	b.ended = false
}

func (b *burst) stop() { b.timer.Stop() }
