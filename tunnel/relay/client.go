package relay

import (
	"context"
	"fmt"
	"io"
	"net"

	"golang.ngrok.com/muxado/v2"
)

// Listen greets the server at the other end of the stream, and returns a listener for the connections at its
// public port. Closing the listener closes the stream, and the end of the stream closes the listener. The
// context limits the greeting only.
func Listen(ctx context.Context, stream io.ReadWriteCloser) (net.Listener, error) {
	unblock := context.AfterFunc(ctx, func() { _ = stream.Close() }) // the read reports it
	_, err := io.WriteString(stream, greeting)
	if err != nil {
		err = fmt.Errorf("greet the relay: %w", err)
	} else {
		err = expectGreeting(stream)
	}
	if !unblock() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = stream.Close() // the other error explains the failure
		return nil, err
	}
	return listener{muxado.Client(stream, &muxado.Config{})}, nil
}

// listener is the client's end of the stream.
type listener struct{ session muxado.Session }

func (l listener) Accept() (net.Conn, error) { return l.session.Accept() }

func (l listener) Close() error { return l.session.Close() }

func (l listener) Addr() net.Addr { return address{} }

// address is the address of a relay's listener, which is no network address.
type address struct{}

func (address) Network() string { return "relay" }
func (address) String() string  { return "relay" }
