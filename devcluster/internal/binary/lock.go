package binary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockInterval is the interval between attempts to take a lock. A blocking flock cannot be
// cancelled.
const lockInterval = 100 * time.Millisecond

// lock takes an exclusive lock on a file. The kernel releases it when the process ends. It
// calls waiting once if another process holds the lock.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // nothing was written
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-tick.C:
		}
	}
}
