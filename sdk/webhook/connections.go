package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/budget"
)

const (
	// connectionShare is the number of bytes in memory that are reserved for the requests of one connection. Nearly all
	// reviews fit.
	connectionShare = 512 << 10
	// maxStreams is the number of concurrent requests in one HTTP/2 connection. Beyond it, Go's client opens another
	// connection.
	maxStreams = 50
	// streamWindow is the number of bytes of a request that an HTTP/2 client may send before the server reads them. The
	// windows of all streams fit into the window of the connection, so that a waiting request does not block others.
	streamWindow = 64 << 10
)

// connections accepts a limited number of connections. Beyond the limit, a new connection replaces the connection that was
// idle or slow for the longest time, so that such clients do not block the API server.
type connections struct {
	net.Listener
	max      int
	maxBytes int64 // maximum size of a request
	log      *connectionLog

	mu   sync.Mutex
	open map[*connection]struct{}
}

// connection is an accepted connection.
type connection struct {
	net.Conn
	of *connections

	share          *budget.Budget // bytes of small requests
	arriving, rest *budget.Budget // bytes of large requests; each is half of the budget of all connections

	// The fields below are guarded by the mutex of connections.
	answering int  // complete requests that are being answered
	useful    bool // a request was answered
	used      time.Time
}

// newConnection returns a connection with its budgets.
func newConnection(c net.Conn, of *connections) *connection {
	large := budgetFactor / 4 * of.maxBytes
	return &connection{
		Conn: c, of: of, share: budget.New(connectionShare), arriving: budget.New(large), rest: budget.New(large), used: time.Now(),
	}
}

// Accept implements [net.Listener].
func (l *connections) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := newConnection(accepted, l)
	if replaced := l.add(c); replaced != nil {
		l.log.report(fmt.Sprintf("there are more than %d; closed the one that was idle or slow for the longest time", l.max))
		_ = replaced.Close() // an error changes nothing, because the connection is dropped
	}
	return c, nil
}

// add adds a connection. It returns the connection to close, if any: the new connection if all others have requests that
// are being answered.
func (l *connections) add(c *connection) (replaced *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		replaced = c
		for other := range l.open {
			if other.answering == 0 && (replaced == c || other.lessUseful(replaced)) {
				replaced = other
			}
		}
		delete(l.open, replaced)
	}
	if replaced != c {
		l.open[c] = struct{}{}
	}
	return replaced
}

func (c *connection) lessUseful(other *connection) bool {
	if c.useful != other.useful {
		return other.useful
	}
	return c.used.Before(other.used)
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// answer counts a complete request as being answered until the returned function is called.
func (c *connection) answer() (done func()) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answering++
	return func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.answering--
		c.useful, c.used = true, time.Now()
	}
}

// connectionKey is the key of the connection in the contexts of its requests.
type connectionKey struct{}

// remember adds the connection to the contexts of its requests.
func remember(ctx context.Context, c net.Conn) context.Context {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

func connectionOf(req *http.Request) *connection {
	c, _ := req.Context().Value(connectionKey{}).(*connection)
	return c
}
