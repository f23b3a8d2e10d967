package kube

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// connections counts the users of a session's connections. Streams may continue long after the session was closed;
// the connections close with the last stream.
type connections struct {
	next http.RoundTripper

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
	resp, err := c.next.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		c.leave() // after a switch of protocols, the caller owns the connection
		return resp, err
	}
	resp.Body = &countedBody{ReadCloser: resp.Body, connections: c}
	return resp, nil
}

// WrappedRoundTripper returns the transport that owns the connections.
func (c *connections) WrappedRoundTripper() http.RoundTripper { return c.next }

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
	utilnet.CloseIdleConnectionsFor(c.next)
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
