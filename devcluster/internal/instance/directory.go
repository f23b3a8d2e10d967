package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// The prefixes of directories next to the root that are on their way to it or from it.
const (
	startingPrefix = "starting-"
	deletedPrefix  = "deleted-"
)

// maxStarting is how long the directory of a new cluster may take to be moved into the root,
// which takes no time.
const maxStarting = time.Minute

// createDir creates the data directory, unless it exists, and marks it. The caller must call
// begun when the program has started or failed.
func (c Config) createDir() (begun func(), err error) {
	begun = func() {}
	if c.Ephemeral {
		begun, err = c.createEphemeral()
	} else if err = os.MkdirAll(c.Dir, 0o700); err != nil {
		err = fmt.Errorf("create the data directory: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if c.Project == "" {
		return begun, nil
	}
	if err := c.claim(); err != nil {
		begun()
		return nil, err
	}
	return begun, nil
}

// createEphemeral creates the directory and its mark atomically, so that the mark exists even if this process is
// killed.
func (c Config) createEphemeral() (begun func(), err error) {
	root := filepath.Dir(c.Dir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	next, err := os.MkdirTemp(filepath.Dir(root), startingPrefix)
	if err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	mark, err := os.Create(filepath.Join(next, ephemeralFile))
	if err == nil {
		err = syscall.Flock(int(mark.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = os.Rename(next, c.Dir)
	}
	if err == nil {
		return func() { _ = mark.Close() }, nil // nothing was written
	}
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		err = fmt.Errorf("%w: %s has data, which an ephemeral cluster would delete", fault.ErrInUse, c.Dir)
	}
	if mark != nil {
		_ = mark.Close() // nothing was written
	}
	return nil, errors.Join(fmt.Errorf("create the data directory: %w", err), os.RemoveAll(next))
}

// claim records the project of a new directory. Of several processes, only one can do so.
func (c Config) claim() error {
	path := filepath.Join(c.Dir, projectFile)
	file, err := os.CreateTemp(c.Dir, projectFile+"-")
	if err != nil {
		return fmt.Errorf("record the project of the cluster: %w", err)
	}
	_, err = file.WriteString(c.Project + "\n")
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Link(file.Name(), path) // fails if it exists, and is never half written
	}
	removed := os.Remove(file.Name())
	if errors.Is(err, fs.ErrExist) {
		body, readErr := os.ReadFile(path)
		err = readErr
		if owner := strings.TrimSuffix(string(body), "\n"); err == nil && owner != c.Project {
			return errors.Join(fmt.Errorf("%w: %s is of the project %s", fault.ErrInUse, c.Dir, owner), removed)
		}
	}
	if err := errors.Join(err, removed); err != nil {
		return fmt.Errorf("record the project of the cluster: %w", err)
	}
	return nil
}

// readMarks reads the files that only this package knows.
func (s *Status) readMarks() error {
	body, err := os.ReadFile(filepath.Join(s.Dir, projectFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the project: %w", err)
	}
	s.Project = strings.TrimSuffix(string(body), "\n")
	if s.FeatureGates, err = readGates(s.Dir); err != nil {
		return err
	}
	mark, err := os.Open(filepath.Join(s.Dir, ephemeralFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the mark of an ephemeral cluster: %w", err)
	}
	s.Ephemeral = true
	s.Starting = errors.Is(syscall.Flock(int(mark.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
	_ = mark.Close() // only read
	return nil
}

// forget deletes the data of an ephemeral cluster whose process was killed.
func (c Config) forget() error {
	if !c.Ephemeral {
		return nil
	}
	return discard(c.Dir)
}

// discard deletes a data directory. It is moved away first: a half deleted directory must not
// look like a cluster. Sweep completes an interrupted deletion.
func discard(dir string) error {
	trash := filepath.Join(filepath.Dir(filepath.Dir(dir)), fmt.Sprintf("%s%s-%d-%d", deletedPrefix, filepath.Base(dir), os.Getpid(), time.Now().UnixNano()))
	err := os.Rename(dir, trash)
	if err == nil {
		err = os.RemoveAll(trash)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", dir, err)
	}
	return nil
}

// Sweep deletes what killed processes have left next to the root.
func Sweep(root string) error {
	parent := filepath.Dir(root)
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the directory of the clusters: %w", err)
	}
	for _, e := range entries {
		old := strings.HasPrefix(e.Name(), deletedPrefix)
		if strings.HasPrefix(e.Name(), startingPrefix) {
			info, err := e.Info()
			old = err == nil && time.Since(info.ModTime()) > maxStarting
		}
		if !old {
			continue
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
			return fmt.Errorf("delete the leftovers of an interrupted command: %w", err)
		}
	}
	return nil
}
