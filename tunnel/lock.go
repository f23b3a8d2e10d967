package tunnel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// sessionDirectory has a file for each session of the user on this machine, which the session keeps locked
// while it lives. The kernel removes the lock of a killed process.
func sessionDirectory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of sessions: %w", err)
	}
	return filepath.Join(cache, "kopf", "sessions"), nil
}

// lockLife is how long the file of a dead session is kept, so that its leftovers are recognised at once.
const lockLife = 30 * 24 * time.Hour

// lockSession creates the file of the session and locks it until the returned function is called.
func lockSession(directory, session string) (unlock func() error, err error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of sessions: %w", err)
	}
	forgetOldSessions(directory)
	path := filepath.Join(directory, session+".lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the file of the session: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock the file of the session %s: %w", path, err)
	}
	return func() error { return errors.Join(os.Remove(path), file.Close()) }, nil
}

// forgetOldSessions removes the files of sessions that have died long ago. The next session retries failed removals.
func forgetOldSessions(directory string) {
	files, err := filepath.Glob(filepath.Join(directory, "*.lock"))
	if err != nil {
		return
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > lockLife {
			if dead, err := isUnlocked(path); err == nil && dead {
				_ = os.Remove(path)
			}
		}
	}
}

// sessionLife is what this machine knows about a session.
type sessionLife int

const (
	unknownSession sessionLife = iota // session of another machine or user
	aliveSession
	deadSession
)

// lifeOf returns whether a session of this machine is alive.
func lifeOf(directory, session string) (sessionLife, error) {
	if filepath.Base(session) != session {
		return unknownSession, nil // labels are written by others, too
	}
	dead, err := isUnlocked(filepath.Join(directory, session+".lock"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unknownSession, nil
	case err != nil:
		return unknownSession, fmt.Errorf("read the file of the session %s: %w", session, err)
	case dead:
		return deadSession, nil
	}
	return aliveSession, nil
}

func isUnlocked(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
