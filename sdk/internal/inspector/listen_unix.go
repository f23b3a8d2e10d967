//go:build unix && !linux

package inspector

import (
	"context"
	"net"
	"sync"
	"syscall"
)

var umask sync.Mutex

// listenPrivately creates a socket that only the user can connect to. Files that other goroutines create at the
// same moment become private, too.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o077))
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}
