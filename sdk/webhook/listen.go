package webhook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// listen listens at an address of a [Server].
func listen(ctx context.Context, address string) (listener net.Listener, unix bool, err error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: choose another port", err)
		}
		return listener, false, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, true, err
	}
	if listener, err = new(net.ListenConfig).Listen(ctx, "unix", path); err != nil {
		return nil, true, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, true, errors.Join(err, listener.Close())
	}
	return listener, true, nil
}

// removeStale removes the socket of a server that was killed.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket; choose another path", path)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another process listens at %s; choose another path", path), conn.Close())
	}
	return os.Remove(path)
}
