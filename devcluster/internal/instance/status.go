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

// Status is what a data directory tells about its cluster.
type Status struct {
	Dir string
	// PID is the living process, or 0.
	PID int
	// Holder is set for a living process, as soon as it has introduced itself.
	Holder *Holder
	// Ready is from the last time that the cluster was usable; see Usable.
	Ready *Ready
	// Ephemeral directories are rubbish once their process is gone.
	Ephemeral bool
}

// Usable tells that Ready is of the living process.
func (s Status) Usable() bool { return s.PID != 0 && s.Ready != nil && s.Ready.PID == s.PID }

// Read inspects a data directory. The error is [fs.ErrNotExist] where there is none.
func Read(dir string) (Status, error) {
	s := Status{Dir: dir}
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		// Nothing was ever started here; the directory may still exist.
		_, err := os.Stat(dir)
		return s, err
	}
	if err != nil {
		return s, fmt.Errorf("reading the lock: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if s.PID, err = holder(f); err != nil {
		return s, err
	}
	var h Holder
	// A lock that is just being written is that of a cluster which is starting.
	if body, err := io.ReadAll(f); err == nil && json.Unmarshal(body, &h) == nil {
		s.Ephemeral = h.Ephemeral
		if h.PID == s.PID {
			s.Holder = &h
		}
	}
	body, err := os.ReadFile(filepath.Join(dir, readyFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("reading the state: %w", err)
	}
	var r Ready
	if err := json.Unmarshal(body, &r); err != nil {
		return s, fmt.Errorf("reading %s: %w", filepath.Join(dir, readyFile), err)
	}
	s.Ready = &r
	return s, nil
}

// holder asks the kernel which process has locked the file: 0 is nobody. Asking does
// not take the lock, hence never gets in the way of a process that starts.
func holder(f *os.File) (int, error) {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		return 0, fmt.Errorf("querying the lock %s: %w", f.Name(), err)
	}
	if l.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(l.Pid), nil
}

// List inspects all data directories of a root, sorted by name.
func List(root string) ([]Status, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the clusters: %w", err)
	}
	var all []Status
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := Read(filepath.Join(root, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted in between
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
