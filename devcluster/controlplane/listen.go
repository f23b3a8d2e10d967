package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// portTakenError reports that another process listens on the requested port.
type portTakenError struct{ port int }

func (e *portTakenError) Error() string { return fmt.Sprintf("port %d is taken", e.port) }

// listen listens on the loopback interface: on the requested port, or else on the port of the
// last start, so that copied kubeconfigs stay valid, or else on a free port.
func listen(port int, lastServer string) (net.Listener, error) {
	if port != 0 {
		l, err := listenOn(port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &portTakenError{port}
		}
		return l, err
	}
	if last := portOf(lastServer); last != 0 {
		if l, err := listenReleased(last); err == nil {
			return l, nil
		}
	}
	return listenOn(0)
}

const (
	// releaseTimeout is how long a killed process may keep its port: the kernel releases
	// the lock on the data directory a moment earlier.
	releaseTimeout = 300 * time.Millisecond
	listenInterval = 10 * time.Millisecond
)

// listenReleased retries while another process may still be releasing the port.
func listenReleased(port int) (net.Listener, error) {
	for deadline := time.Now().Add(releaseTimeout); ; time.Sleep(listenInterval) {
		l, err := listenOn(port)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
	}
}

func listenOn(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// portOf returns the port of a URL, or 0.
func portOf(server string) int {
	u, err := url.Parse(server)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return port
}
