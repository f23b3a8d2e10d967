package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// AddressError is the error of an invalid inspector address.
type AddressError struct {
	Address string
	Reason  string
}

// Error implements the error interface.
func (e *AddressError) Error() string {
	return fmt.Sprintf("inspector address %q: %s", e.Address, e.Reason)
}

// maxSocketPath is the longest path on all systems: the field in a socket's address has 104 bytes on
// macOS and 108 on Linux, including the terminating zero.
const maxSocketPath = 103

// parseAddress parses "unix:PATH" or "tcp:HOST:PORT". The host must be a loopback address, because the
// protocol has no authentication.
func parseAddress(address string) (network, where string, err error) {
	network, where, _ = strings.Cut(address, ":")
	fail := func(reason string) (string, string, error) {
		return "", "", &AddressError{Address: address, Reason: reason}
	}
	switch network {
	case "unix":
		if where == "" {
			return fail("want a path: unix:PATH")
		}
		if len(where) > maxSocketPath {
			return fail(fmt.Sprintf("the path has %d bytes; use at most %d", len(where), maxSocketPath))
		}
		return network, where, nil
	case "tcp":
		host, _, err := net.SplitHostPort(where)
		if err != nil {
			return fail("want a host and a port: tcp:127.0.0.1:PORT")
		}
		if !isLoopback(host) {
			return fail("want a loopback address, such as 127.0.0.1, because there is no authentication")
		}
		return network, where, nil
	}
	return fail("want unix:PATH or tcp:127.0.0.1:PORT")
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// listen opens the address. A socket that a killed process left behind is replaced; one in use is not.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network, where, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, network, where)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && isStale(ctx, where) {
		if err := os.Remove(where); err != nil {
			return nil, fmt.Errorf("inspector: remove the socket of a former process: %w", err)
		}
		listener, err = config.Listen(ctx, network, where)
	}
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if network == "unix" {
		// The operator's state may contain secrets, so only its user may read it.
		if err := os.Chmod(where, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("inspector: %w", err), listener.Close())
		}
	}
	return listener, nil
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
