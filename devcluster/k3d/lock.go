package k3d

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockInterval is the interval between attempts to take a lock. A blocking flock cannot be
// cancelled.
const lockInterval = 100 * time.Millisecond

// errLocked means that another process works on the cluster.
var errLocked = errors.New("another process works on the cluster")

// lock waits until no other process works on the cluster, and keeps others away until unlock.
// It calls waiting once if it has to wait; waiting may be nil.
func (b *Backend) lock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		unlock, err := b.tryLock(name)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// tryLock is lock that fails with errLocked instead of waiting. The kernel releases the lock when
// the process ends. The file remains, because another process may wait for it.
func (b *Backend) tryLock(name string) (unlock func(), err error) {
	if err := os.MkdirAll(b.root, 0o700); err != nil {
		return nil, fmt.Errorf("lock the cluster %s: %w", name, err)
	}
	f, err := os.OpenFile(filepath.Join(b.root, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster %s: %w", name, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil // nothing was written
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, errors.Join(fmt.Errorf("lock the cluster %s: %w", name, err), f.Close())
}
