package kube

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// connections counts the users of a session's connections. Streams may continue long after the session was closed;
// the connections close with the last stream.
//
// Requests for many objects that can wait have a connection of their own: see [InBulk]. On a connection with many
// requests, an API server sends the events of watch streams many seconds late, because it flushes each event, and each
// flush waits for the turn of the stream. All other requests share the connection of the streams, because it takes less
// CPU time to receive answers and events together.
type connections struct {
	shared, bulk http.RoundTripper

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
	transport := c.shared
	if req.Context().Value(bulkKey{}) != nil {
		transport = c.bulk
	}
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		c.leave() // after a switch of protocols, the caller owns the connection
		return resp, err
	}
	resp.Body = &countedBody{ReadCloser: resp.Body, connections: c}
	return resp, nil
}

// bulkKey is the context key of requests with a connection of their own.
type bulkKey struct{}

// InBulk returns a context whose requests do not delay watch streams, because they use another connection.
func InBulk(ctx context.Context) context.Context { return context.WithValue(ctx, bulkKey{}, true) }

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
	utilnet.CloseIdleConnectionsFor(c.shared)
	utilnet.CloseIdleConnectionsFor(c.bulk)
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
