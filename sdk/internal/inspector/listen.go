package inspector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// listen opens the address. A socket that a killed process left behind is replaced; one in use is not.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network, where, err := inspect.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if network != "unix" {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, network, where)
		if err != nil {
			return nil, fmt.Errorf("inspector: %w", err)
		}
		return listener, nil
	}
	listener, err := listenPrivately(ctx, where)
	if errors.Is(err, syscall.EADDRINUSE) && isStale(ctx, where) {
		if err := os.Remove(where); err != nil {
			return nil, fmt.Errorf("inspector: remove the socket of a previous process: %w", err)
		}
		listener, err = listenPrivately(ctx, where)
	}
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if err := checkMode(where); err != nil {
		return nil, errors.Join(fmt.Errorf("inspector: %w", err), listener.Close())
	}
	return &ownUser{Listener: listener}, nil
}

// ownUser is a listener that accepts connections of the same user only.
type ownUser struct{ net.Listener }

// Accept implements [net.Listener].
func (l *ownUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if inspect.CheckPeer(conn) == nil {
			return conn, nil
		}
		_ = conn.Close() // processes of other users get no response
	}
}

// isStale reports whether the path is a socket without a listener.
func isStale(ctx context.Context, path string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // nothing was sent
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
