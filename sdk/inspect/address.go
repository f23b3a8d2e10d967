package inspect

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
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

// ParseAddress returns the network and the address, as [net.Dial] wants them, of an inspector's address,
// "unix:PATH" or "tcp:HOST:PORT". The host must be a loopback address, because the protocol is not
// encrypted. It returns an [*AddressError] for any other address.
func ParseAddress(address string) (network, where string, err error) {
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
			return fail("want a loopback address, such as 127.0.0.1, because the protocol is not encrypted")
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
