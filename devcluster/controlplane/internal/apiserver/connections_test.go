package apiserver

import (
	"io"
	"net"
	"testing"
)

func TestConnections_CloseAll(t *testing.T) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := track(inner)
	defer l.Close()
	var clients []net.Conn
	for range 2 {
		c, err := net.Dial("tcp4", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if len(l.open) != 1 {
		t.Errorf("%d are remembered", len(l.open))
	}
	l.closeAll()
	for _, c := range clients {
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("a client reads %v", err)
		}
	}
}
