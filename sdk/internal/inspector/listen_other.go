//go:build !unix

package inspector

import (
	"context"
	"net"
)

// listenPrivately creates a socket, which is as private as its folder on this system.
func listenPrivately(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}

// checkMode returns nil: this system has no modes.
func checkMode(string) error { return nil }
