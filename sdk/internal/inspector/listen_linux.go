package inspector

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// listenPrivately creates a socket that only the user can connect to. Linux gives the file the mode of the socket, so
// that other users cannot connect at any time.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}}
	return config.Listen(ctx, "unix", path)
}
