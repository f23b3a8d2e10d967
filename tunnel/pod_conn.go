package tunnel

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// DialPod returns a connection to a port of a pod, through the API server. It has no deadlines. Canceling the
// context does not end a connection that was returned.
func DialPod(ctx context.Context, config *rest.Config, namespace, pod string, port int) (net.Conn, error) {
	stream, err := forwardPort(ctx, config, namespace, pod, port)
	if err != nil {
		return nil, err
	}
	return &podConn{stream, podAddr(fmt.Sprintf("%s/%s:%d", namespace, pod, port))}, nil
}

// podConn is a forwarded stream as a connection.
type podConn struct {
	*forwardedStream
	remote podAddr
}

// LocalAddr implements [net.Conn]. This side has no address of its own.
func (c *podConn) LocalAddr() net.Addr { return podAddr("") }

// RemoteAddr implements [net.Conn].
func (c *podConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn]. It returns [os.ErrNoDeadline], as the other two do.
func (c *podConn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements [net.Conn].
func (c *podConn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline implements [net.Conn].
func (c *podConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// podAddr is the address of a port of a pod: "namespace/name:port".
type podAddr string

func (podAddr) Network() string  { return "pod" }
func (a podAddr) String() string { return string(a) }
