package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// workDir is a folder for the executables of one process, in the user's cache folder.
// It is locked while it is in use, so that those of killed processes can be swept.
type workDir struct {
	path string
	lock *os.File
}

func newWorkDir() (*workDir, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder to build in: %w", err)
	}
	d, err := newWorkDirIn(filepath.Join(cache, "kopf", "operators"))
	if err != nil {
		return nil, fmt.Errorf("no folder to build in: %w", err)
	}
	return d, nil
}

func newWorkDirIn(parent string) (*workDir, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	// Nobody sweeps while a folder exists without being locked yet.
	guard, err := lockDir(parent, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer func() { _ = guard.Close() }() // a lock that is read from by nobody
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

// lockDir takes the lock of a folder. It ends with the process, however that ends.
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

// sweep removes the folders that nobody uses. What cannot be removed now is left to
// the next sweep: it is only disk space.
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
