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
	// keptPrograms bounds the cache: a program is 130 MB, and somebody who works on the
	// control plane makes one with every change.
	keptPrograms = 4
)

// cached returns the program of a key, and builds it if nobody else does.
func (f finder) cached(ctx context.Context, key string) (string, error) {
	program := filepath.Join(f.cache, key, programName)
	if isProgram(program) {
		return program, touch(filepath.Dir(program))
	}
	if err := os.MkdirAll(f.cache, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache directory: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(f.cache, key+".lock"), func() {
		f.report(Progress{Step: StepWait, Message: "waiting for another build of the control plane"})
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(program) { // the other one was successful
		return program, nil
	}
	return program, f.fill(ctx, key)
}

// fill builds into a directory of its own and renames that, so that the cache holds
// complete programs only. The caller has the lock of the key.
func (f finder) fill(ctx context.Context, key string) (err error) {
	building := filepath.Join(f.cache, buildPrefix+key)
	// Also the remains of a build whose process was killed.
	if err := os.RemoveAll(building); err != nil {
		return fmt.Errorf("cleaning the cache: %w", err)
	}
	defer func() {
		// After a failure the next build cleans up what could not be removed.
		if rmErr := os.RemoveAll(building); err == nil {
			err = rmErr
		}
	}()
	tmp := filepath.Join(building, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("creating the build directory: %w", err)
	}
	b := builder{source: f.source, report: f.report, tmp: tmp}
	if err := b.build(ctx, filepath.Join(building, programName)); err != nil {
		return err
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("cleaning up after the build: %w", err)
	}
	if err := os.Rename(building, filepath.Join(f.cache, key)); err != nil {
		return fmt.Errorf("putting the control plane into the cache: %w", err)
	}
	return f.prune()
}

// prune deletes the programs that were not used for the longest time.
func (f finder) prune() error {
	entries, err := os.ReadDir(f.cache)
	if err != nil {
		return fmt.Errorf("reading the cache: %w", err)
	}
	type program struct {
		dir  string
		used time.Time
	}
	var programs []program
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() || strings.HasPrefix(e.Name(), buildPrefix) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the cache: %w", err)
		}
		programs = append(programs, program{filepath.Join(f.cache, e.Name()), info.ModTime()})
	}
	slices.SortFunc(programs, func(a, b program) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.dir, b.dir))
	})
	for _, p := range programs[min(keptPrograms, len(programs)):] {
		// Its lock stays: somebody may just be waiting for it.
		if err := os.RemoveAll(p.dir); err != nil {
			return fmt.Errorf("pruning the cache: %w", err)
		}
	}
	return nil
}

// touch marks a program as used. A cache that cannot be written to is as good.
func touch(dir string) error {
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("marking the control plane as used: %w", err)
	}
	return nil
}
