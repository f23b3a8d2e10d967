package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// workDir is a folder for the executables of one kopf process, in the user's cache folder.
// The process holds a lock on it, so that folders of killed processes can be removed.
type workDir struct {
	path string
	lock *os.File
}

func newWorkDir() (*workDir, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("create the folder for built operators: %w", err)
	}
	d, err := newWorkDirIn(filepath.Join(cache, "kopf", "operators"))
	if err != nil {
		return nil, fmt.Errorf("create the folder for built operators: %w", err)
	}
	return d, nil
}

func newWorkDirIn(parent string) (*workDir, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	// The lock of the parent prevents others from sweeping the new folder before it is locked.
	guard, err := lockDir(parent, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer func() { _ = guard.Close() }() // nothing was written
	sweep(parent)
	path, err := os.MkdirTemp(parent, "run-")
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(path, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &workDir{path: path, lock: lock}, nil
}

func (d *workDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// lockDir locks a folder. The kernel releases the lock when the process ends.
func lockDir(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes the folders of processes that have ended. The next sweep retries those
// that it cannot remove.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		lock, err := lockDir(path, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}
