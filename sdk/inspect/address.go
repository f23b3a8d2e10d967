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

// AddressError tells that an address is none that an inspector may have.
type AddressError struct {
	Address string
	Reason  string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("inspector address %q: %s", e.Address, e.Reason)
}

// maxSocketPath is what every system takes: the field in the socket's address has 104
// bytes on macOS and 108 on Linux, with the closing zero.
const maxSocketPath = 103

// parseAddress takes "unix:PATH" or "tcp:HOST:PORT" apart. Hosts must be loopback
// addresses: the protocol knows no authentication.
func parseAddress(address string) (network, where string, err error) {
	network, where, _ = strings.Cut(address, ":")
	fail := func(reason string) (string, string, error) {
		return "", "", &AddressError{Address: address, Reason: reason}
	}
	switch network {
	case "unix":
		if where == "" {
			return fail("wants a path: unix:PATH")
		}
		if len(where) > maxSocketPath {
			return fail(fmt.Sprintf("the path of a socket may have %d bytes, this has %d", maxSocketPath, len(where)))
		}
		return network, where, nil
	case "tcp":
		host, _, err := net.SplitHostPort(where)
		if err != nil {
			return fail("wants a host and a port: tcp:127.0.0.1:PORT")
		}
		if !isLoopback(host) {
			return fail("only loopback addresses may be served, such as 127.0.0.1: there is no authentication")
		}
		return network, where, nil
	}
	return fail("wants unix:PATH or tcp:127.0.0.1:PORT")
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// listen opens the address. A socket that a killed process has left behind is replaced;
// one that somebody serves is not.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network, where, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, network, where)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && isStale(ctx, where) {
		if err := os.Remove(where); err != nil {
			return nil, fmt.Errorf("inspector: removing the socket of a former process: %w", err)
		}
		listener, err = config.Listen(ctx, network, where)
	}
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if network == "unix" {
		// The operator's state may have secrets in it: it is for its user alone.
		if err := os.Chmod(where, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("inspector: %w", err), listener.Close())
		}
	}
	return listener, nil
}

// isStale tells that the path is a socket which nobody listens on.
func isStale(ctx context.Context, path string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		// It was only a question; there is nothing to lose in closing it.
		_ = conn.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
