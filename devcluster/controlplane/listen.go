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

// portTakenError tells that somebody else listens on the port that was asked for.
type portTakenError struct{ port int }

func (e *portTakenError) Error() string { return fmt.Sprintf("the port %d is taken", e.port) }

// listen opens a port on the loopback interface: the one asked for, else the one of the last
// start, so that kubeconfigs which were copied stay right, else any.
func listen(port int, lastServer string) (net.Listener, error) {
	if port != 0 {
		l, err := listenOn(port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &portTakenError{port}
		}
		return l, err
	}
	if last := portOf(lastServer); last != 0 {
		if l, err := listenSoon(last); err == nil {
			return l, nil
		}
	}
	return listenOn(0)
}

const (
	// lingering is how long a process that was killed may keep its port: the kernel
	// releases the lock on the data directory some moments earlier.
	lingering      = 300 * time.Millisecond
	listenPatience = 10 * time.Millisecond
)

// listenSoon tries for a while to get a port that is just being released.
func listenSoon(port int) (net.Listener, error) {
	for deadline := time.Now().Add(lingering); ; time.Sleep(listenPatience) {
		l, err := listenOn(port)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return l, err
		}
	}
}

func listenOn(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return l, nil
}

// portOf returns 0 where there is none.
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
