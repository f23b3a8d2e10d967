package apiserver

import (
	"net"
	"sync"
)

// connections is a listener that remembers what it has accepted, so that all of it
// can be closed. A graceful end of HTTP/2 with a watch takes seconds; those who watch
// reconnect anyway.
type connections struct {
	net.Listener

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func track(l net.Listener) *connections {
	return &connections{Listener: l, open: map[net.Conn]struct{}{}}
}

// Accept remembers the connection until it is closed.
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

// closeAll ends the connections that are open.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close() // it may be closed in the same moment
	}
}

type tracked struct {
	net.Conn
	forget func()
}

// Close forgets the connection.
func (t *tracked) Close() error {
	t.forget()
	return t.Conn.Close()
}
