package apiserver

import (
	"net"
	"sync"
)

// connections is a listener that can close all accepted connections. A graceful shutdown of
// HTTP/2 connections with watches takes seconds, and watchers reconnect anyway.
type connections struct {
	net.Listener

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func track(l net.Listener) *connections {
	return &connections{Listener: l, open: map[net.Conn]struct{}{}}
}

// Accept tracks the connection until it is closed.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn] = struct{}{}
	return &tracked{Conn: conn, forget: func() { c.forget(conn) }}, nil
}

func (c *connections) forget(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// closeAll closes all open connections.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close() // it may be closed already
	}
}

type tracked struct {
	net.Conn
	forget func()
}

// Close closes the connection and stops tracking it.
func (t *tracked) Close() error {
	t.forget()
	return t.Conn.Close()
}
