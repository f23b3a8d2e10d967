// Package datadir manages the data directory of a cluster and the lock on it.
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

// Holder is the content of the lock file: the process that holds the lock.
type Holder struct {
	PID int `json:"pid"`
	// Owner is the ID of the process that this one stops with, or 0.
	Owner     int       `json:"owner,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
	Started   time.Time `json:"started"`
}

// InUseError reports which process has locked the directory.
type InUseError struct {
	Path string
	PID  int
}

// Error returns a message with the directory and the process.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the data directory %s is in use by process %d", e.Path, e.PID)
}

// Open creates and locks a data directory; an empty path means a temporary one. An ephemeral
// directory must not have data, and Close deletes it. The error is an [InUseError] if another
// process has locked the directory.
func Open(path string, h Holder) (*Dir, error) {
	path, err := create(path, h.Ephemeral)
	if err != nil {
		return nil, err
	}
	// Other processes can query an fcntl lock without taking it, and the kernel releases it
	// when this process ends. It belongs to the process: if any other code here closed
	// another handle of the file, the lock would be released.
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return nil, errors.Join(inUse(path, f), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	d := &Dir{path: path, lock: f, ephemeral: h.Ephemeral}
	if err := d.writeHolder(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

func create(path string, ephemeral bool) (string, error) {
	if path == "" {
		path, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return "", fmt.Errorf("create a temporary data directory: %w", err)
		}
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("create the data directory: %w", err)
	}
	if !ephemeral {
		return path, nil
	}
	if _, err := os.Stat(filepath.Join(path, "etcd")); err == nil {
		return "", fmt.Errorf("the data directory %s has data, which --ephemeral would delete", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("check the data directory: %w", err)
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

// writeHolder writes the holder to the lock file.
func (d *Dir) writeHolder(h Holder) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	if _, err := d.lock.WriteAt(append(body, '\n'), 0); err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	return nil
}

// Path returns the absolute path of the directory, or of a file in it.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// WriteFile replaces a file of the directory atomically.
func (d *Dir) WriteFile(name string, body []byte) error {
	tmp := d.Path(name + ".tmp")
	if err := os.WriteFile(tmp, body, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(tmp, d.Path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Close unlocks the directory, and deletes it if it is ephemeral.
func (d *Dir) Close() error {
	var err error
	if d.ephemeral {
		err = os.RemoveAll(d.path)
	}
	return errors.Join(err, d.lock.Close())
}
