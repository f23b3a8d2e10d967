package binary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	programName = "controlplane"
	buildPrefix = ".building-"
	// keptPrograms is the maximal number of programs in the cache. A program has 130 MB, and
	// every change of the control plane's source makes a new one.
	keptPrograms = 4
)

// cached returns the program of a key. It fetches or builds the program if it is missing, unless another
// process does so: then it waits for that.
func (f finder) cached(ctx context.Context, key string) (string, error) {
	program := filepath.Join(f.cache, key, programName)
	if isProgram(program) {
		return program, touch(filepath.Dir(program))
	}
	if err := os.MkdirAll(f.cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(f.cache, key+".lock"), func() {
		f.report(Progress{Step: StepWait, Message: "waiting for another process that fetches or builds the control plane"})
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(program) { // built by the other process
		return program, nil
	}
	return program, f.fill(ctx, key)
}

// fill fetches or builds into a temporary directory and renames it, so that the cache has complete
// programs only. The caller must hold the lock of the key.
func (f finder) fill(ctx context.Context, key string) (err error) {
	building := filepath.Join(f.cache, buildPrefix+key)
	// It may exist from a build whose process was killed.
	if err := os.RemoveAll(building); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	defer func() {
		// The next build removes what cannot be removed now.
		if rmErr := os.RemoveAll(building); err == nil {
			err = rmErr
		}
	}()
	tmp := filepath.Join(building, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("create the build directory: %w", err)
	}
	if err := f.obtain(ctx, tmp, filepath.Join(building, programName)); err != nil {
		return err
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("clean up after the build: %w", err)
	}
	if err := os.Rename(building, filepath.Join(f.cache, key)); err != nil {
		return fmt.Errorf("move the control plane into the cache: %w", err)
	}
	return f.prune()
}

// prune deletes the least recently used programs.
func (f finder) prune() error {
	entries, err := os.ReadDir(f.cache)
	if err != nil {
		return fmt.Errorf("read the cache: %w", err)
	}
	type program struct {
		dir  string
		used time.Time
	}
	var programs []program
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if key, building := strings.CutPrefix(e.Name(), buildPrefix); building {
			if err := f.removeAbandoned(key); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read the cache: %w", err)
		}
		programs = append(programs, program{filepath.Join(f.cache, e.Name()), info.ModTime()})
	}
	slices.SortFunc(programs, func(a, b program) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.dir, b.dir))
	})
	for _, p := range programs[min(keptPrograms, len(programs)):] {
		// Keep its lock: another process may be waiting for it.
		if err := os.RemoveAll(p.dir); err != nil {
			return fmt.Errorf("prune the cache: %w", err)
		}
	}
	return nil
}

// removeAbandoned deletes the directory of a build whose process was killed. It holds up to
// several hundred MB, and no other build reuses it, because its source has changed.
func (f finder) removeAbandoned(key string) error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	unlock, err := lock(now, filepath.Join(f.cache, key+".lock"), nil)
	if errors.Is(err, context.Canceled) {
		return nil // a process is building
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.RemoveAll(filepath.Join(f.cache, buildPrefix+key)); err != nil {
		return fmt.Errorf("remove an abandoned build: %w", err)
	}
	return nil
}

// touch marks a program as used. It ignores a read-only cache.
func touch(dir string) error {
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("mark the control plane as used: %w", err)
	}
	return nil
}
