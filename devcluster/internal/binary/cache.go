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
	// buildPrefix begins the names of directories of programs that are not complete; the key follows.
	buildPrefix = ".building-"
	// partialPrefix begins the names of archives that are not complete.
	partialPrefix = ".fetching-"
	// keptPrograms is the maximal number of programs in the cache. A program has 130 MB, and
	// every change of the control plane's source makes a new one.
	keptPrograms = 4
)

// cached returns the program of a key. It fetches or builds a missing program. If another process does so already, it
// waits for that process.
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
		// The next build retries a failed removal.
		if rmErr := os.RemoveAll(building); err == nil {
			err = rmErr
		}
	}()
	tmp := filepath.Join(building, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("create the build directory: %w", err)
	}
	if err := f.obtain(ctx, key, tmp, filepath.Join(building, programName)); err != nil {
		return err
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("clean up after the build: %w", err)
	}
	if err := os.Rename(building, filepath.Join(f.cache, key)); err != nil {
		return fmt.Errorf("move the control plane into the cache: %w", err)
	}
	return f.prune(key)
}

// partialName returns the name of an archive that is not complete. The name has the checksum, so that parts of
// different archives are never combined, and the key of the program, whose lock protects the file.
func partialName(sum, key string) string { return partialPrefix + sum + "-" + key }

// unfinishedKey returns the key of a program from the name of an interrupted build or download, or "".
func unfinishedKey(name string) string {
	if key, ok := strings.CutPrefix(name, buildPrefix); ok {
		return key
	}
	rest, ok := strings.CutPrefix(name, partialPrefix)
	if !ok {
		return ""
	}
	_, key, _ := strings.Cut(rest, "-")
	return key
}

// prune deletes the least recently used programs, and the leftovers of interrupted builds and downloads. The caller
// must hold the lock of the key, whose program is complete.
func (f finder) prune(held string) error {
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
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if key := unfinishedKey(e.Name()); key != "" {
			if err := f.removeAbandoned(filepath.Join(f.cache, e.Name()), key, key == held); err != nil {
				return err
			}
			continue
		}
		if !e.IsDir() {
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

// removeAbandoned deletes a killed process's leftovers of a build or a download. They are up to several hundred MB,
// and useless after a change of the source or the version.
func (f finder) removeAbandoned(path, key string, held bool) error {
	if !held {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		unlock, err := lock(now, filepath.Join(f.cache, key+".lock"), nil)
		if errors.Is(err, context.Canceled) {
			return nil // a process works on it
		}
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := os.RemoveAll(path); err != nil {
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
