package box

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Forward passes each connection of a listener on to a Unix socket, until the listener is closed.
func Forward(l net.Listener, socket string) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go forward(conn.(*net.TCPConn), socket)
	}
}

// forward passes a connection on in both directions. A failure ends the connection, which is how the client sees it.
func forward(from *net.TCPConn, socket string) {
	defer func() { _ = from.Close() }()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	to := conn.(*net.UnixConn)
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
