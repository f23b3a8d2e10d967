package kube

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// connections counts the users of a session's connections. Streams may continue long after the session was closed;
// the connections close with the last stream.
//
// Watch streams have a connection of their own. On a connection that also serves many other requests, an API server
// sends their events many seconds late, because it flushes each event, and each flush waits for the turn of the stream.
type connections struct {
	requests, streams http.RoundTripper

	mu     sync.Mutex
	users  int
	closed bool
}

// A connection stays in use for a moment after its last stream was canceled, and one that was being opened for a
// canceled request is idle only when it is open. So idle connections are closed repeatedly, with delays that double.
const (
	firstDelay = 50 * time.Millisecond
	lastDelay  = 4 * time.Second
)

// RoundTrip implements [http.RoundTripper].
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.users++
	c.mu.Unlock()
	transport := c.requests
	if isWatch(req) {
		transport = c.streams
	}
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		c.leave() // after a switch of protocols, the caller owns the connection
		return resp, err
	}
	resp.Body = &countedBody{ReadCloser: resp.Body, connections: c}
	return resp, nil
}

// isWatch reports whether a request opens a watch stream.
func isWatch(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.Contains(req.URL.RawQuery, "watch=")
}

func (c *connections) leave() {
	c.mu.Lock()
	c.users--
	last := c.closed && c.users == 0
	c.mu.Unlock()
	if last {
		c.closeIdle(firstDelay)
	}
}

func (c *connections) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.closeIdle(firstDelay)
}

// closeIdle closes the connections that are idle, now and after the delay.
func (c *connections) closeIdle(delay time.Duration) {
	utilnet.CloseIdleConnectionsFor(c.requests)
	utilnet.CloseIdleConnectionsFor(c.streams)
	if delay <= lastDelay {
		time.AfterFunc(delay, func() { c.closeIdle(2 * delay) })
	}
}

// countedBody is the body of a response, whose connection is in use until it is closed.
type countedBody struct {
	io.ReadCloser
	connections *connections
	closed      atomic.Bool
}

// Close implements [io.Closer].
func (b *countedBody) Close() error {
	err := b.ReadCloser.Close()
	if !b.closed.Swap(true) {
		b.connections.leave()
	}
	return err
}
