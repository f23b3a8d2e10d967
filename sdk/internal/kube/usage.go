package kube

import (
	"io"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// usage counts who uses the connections of a session. Streams may go on for long after the
// session was closed; its connections go with the last of them.
type usage struct {
	next http.RoundTripper

	mu     sync.Mutex
	users  int
	closed bool
}

// A connection is still in use for a moment after its last stream was cancelled: it is
// looked after for a while.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

// RoundTrip implements [http.RoundTripper].
func (u *usage) RoundTrip(req *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.users++
	u.mu.Unlock()
	resp, err := u.next.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		u.leave() // in the latter case, the connection is the caller's own from now on
		return resp, err
	}
	resp.Body = &usedBody{resp.Body, sync.OnceFunc(u.leave)}
	return resp, nil
}

// WrappedRoundTripper tells whose connections are to be closed.
func (u *usage) WrappedRoundTripper() http.RoundTripper { return u.next }

func (u *usage) leave() {
	u.mu.Lock()
	u.users--
	last := u.closed && u.users == 0
	u.mu.Unlock()
	if last {
		u.closeIdle(firstLook)
	}
}

func (u *usage) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.closeIdle(firstLook)
}

// closeIdle closes the connections that nobody uses at the moment, or some moments later.
func (u *usage) closeIdle(again time.Duration) {
	utilnet.CloseIdleConnectionsFor(u.next)
	if again <= lastLook {
		time.AfterFunc(again, func() { u.closeIdle(2 * again) })
	}
}

// usedBody is the body of a response that somebody reads.
type usedBody struct {
	io.ReadCloser
	leave func()
}

// Close closes the body.
func (b *usedBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}
