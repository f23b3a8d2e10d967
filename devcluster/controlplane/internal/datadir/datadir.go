// Package datadir is the directory in which a cluster lives, and the lock on it.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Dir is a data directory that this process has locked.
type Dir struct {
	path      string
	lock      *os.File
	ephemeral bool
}

// Holder is what the lock file tells of the process that holds it.
type Holder struct {
	PID int `json:"pid"`
	// Owner is the process whose end ends this one, or 0.
	Owner     int       `json:"owner,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
	Started   time.Time `json:"started"`
}

// InUseError tells who has locked the directory.
type InUseError struct {
	Path string
	PID  int
}

// Error names the directory and the process.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by the process %d", e.Path, e.PID)
}

// Open creates and locks a data directory. The empty path is a temporary directory. An ephemeral
// directory must be new, and is deleted by Close.
func Open(path string, h Holder) (*Dir, error) {
	path, err := create(path, h.Ephemeral)
	if err != nil {
		return nil, err
	}
	// The lock is one of fcntl, which others can query without taking it, and which
	// the kernel releases however this process ends. It belongs to the process:
	// nothing else here may open and close this file.
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return nil, errors.Join(inUse(path, f), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	d := &Dir{path: path, lock: f, ephemeral: h.Ephemeral}
	if err := d.introduce(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

func create(path string, ephemeral bool) (string, error) {
	if path == "" {
		path, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return "", fmt.Errorf("creating a temporary data directory: %w", err)
		}
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("creating the data directory: %w", err)
	}
	if !ephemeral {
		return path, nil
	}
	if _, err := os.Stat(filepath.Join(path, "etcd")); err == nil {
		return "", fmt.Errorf("the data directory %s has data, which --ephemeral would delete", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("looking into the data directory: %w", err)
	}
	return path, nil
}

func inUse(path string, f *os.File) error {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		return fmt.Errorf("the data directory %s is in use: %w", path, err)
	}
	return &InUseError{Path: path, PID: int(l.Pid)}
}

// introduce writes into the lock who we are.
func (d *Dir) introduce(h Holder) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	if _, err := d.lock.WriteAt(append(body, '\n'), 0); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	return nil
}

// Path is the absolute path of the directory, or of a file in it.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// WriteFile replaces a file of the directory at once, so that readers see either content.
func (d *Dir) WriteFile(name string, body []byte) error {
	tmp := d.Path(name + ".tmp")
	if err := os.WriteFile(tmp, body, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(tmp, d.Path(name)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Close releases the directory, and deletes an ephemeral one.
func (d *Dir) Close() error {
	var err error
	if d.ephemeral {
		err = os.RemoveAll(d.path)
	}
	return errors.Join(err, d.lock.Close())
}
