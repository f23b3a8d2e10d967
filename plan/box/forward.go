package box

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Forward passes each connection of a listener on to an address, until the listener is closed.
func Forward(l net.Listener, network, address string) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go forward(conn.(stream), network, address)
	}
}

// stream is a connection over TCP, or of a Unix socket.
type stream interface {
	net.Conn
	CloseWrite() error
}

// forward passes a connection on in both directions. A failure ends the connection, so that the client notices the failure.
func forward(from stream, network, address string) {
	defer func() { _ = from.Close() }()
	conn, err := net.Dial(network, address)
	if err != nil {
		return
	}
	to := conn.(stream)
	defer func() { _ = to.Close() }()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to)
		_ = from.CloseWrite()
	})
	_, _ = io.Copy(to, from)
	_ = to.CloseWrite()
	back.Wait()
}
