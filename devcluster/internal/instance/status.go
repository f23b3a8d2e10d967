package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Status is the state of a cluster according to its data directory.
type Status struct {
	Dir string
	// PID is the running process, or 0.
	PID int
	// Holder is from the lock file. It is nil if no process is running, or if the process has
	// not written it yet.
	Holder *Holder
	// Ready is from the last time that the cluster was usable, or nil; see Usable.
	Ready *Ready
	// Ephemeral reports whether the directory is deleted after its process has exited.
	Ephemeral bool
	// Starting reports whether a process is about to start the program in an ephemeral one.
	Starting bool
	// Project is the folder of the project that the cluster was created for, if any.
	Project string
	// FeatureGates are the feature gates of the last start, if any.
	FeatureGates string
}

// Usable reports whether Ready is from the running process.
func (s Status) Usable() bool { return s.PID != 0 && s.Ready != nil && s.Ready.PID == s.PID }

// Read returns the status of a data directory. The error is [fs.ErrNotExist] if there is none.
func Read(dir string) (Status, error) {
	s := Status{Dir: dir}
	if err := s.readMarks(); err != nil {
		return s, err
	}
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		// No process was started in it yet, but the directory may exist.
		_, err := os.Stat(dir)
		return s, err
	}
	if err != nil {
		return s, fmt.Errorf("read the lock: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if s.PID, err = holder(f); err != nil {
		return s, err
	}
	var h Holder
	// Ignore a file that is being written: its cluster is starting.
	if body, err := io.ReadAll(f); err == nil && json.Unmarshal(body, &h) == nil {
		s.Ephemeral = s.Ephemeral || h.Ephemeral
		if h.PID == s.PID {
			s.Holder = &h
		}
	}
	body, err := os.ReadFile(filepath.Join(dir, readyFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("read the state: %w", err)
	}
	var r Ready
	if err := json.Unmarshal(body, &r); err != nil {
		return s, fmt.Errorf("read %s: %w", filepath.Join(dir, readyFile), err)
	}
	s.Ready = &r
	return s, nil
}

// holder returns the process that has locked the file, or 0. It asks the kernel without
// taking the lock, so it does not interfere with a process that is starting.
func holder(f *os.File) (int, error) {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		return 0, fmt.Errorf("query the lock %s: %w", f.Name(), err)
	}
	if l.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(l.Pid), nil
}

// List returns the status of all data directories of a root, sorted by name.
func List(root string) ([]Status, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the clusters: %w", err)
	}
	var all []Status
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := Read(filepath.Join(root, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
