// Package workdir creates private folders for the files of one kopf process, and removes those of killed ones.
package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is a folder for the files of one kopf process, which only its user can read. The process
// holds a lock on it, so that the folders of killed processes can be removed.
type Dir struct {
	// Path is the path of the folder.
	Path string

	lock *os.File
}

// StateHome returns the folder in which kopf keeps files between its runs, following the XDG specification. It may not exist.
func StateHome() (string, error) {
	// The XDG specification says that relative paths are ignored.
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "kopf"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "kopf"), nil
}

// ForConnection creates a folder for a file with which an operator and its cluster reach each other, such as a kubeconfig.
func ForConnection() (*Dir, error) {
	state, err := StateHome()
	if err != nil {
		return nil, err
	}
	d, err := New(filepath.Join(state, "connections"))
	if err != nil {
		return nil, fmt.Errorf("create a folder for the operator's connection: %w", err)
	}
	return d, nil
}

// New creates a folder in the parent folder, which New alone may use. It removes the folders of processes that have
// ended.
func New(parent string) (*Dir, error) {
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
	return &Dir{Path: path, lock: lock}, nil
}

// Remove removes the folder.
func (d *Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
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
