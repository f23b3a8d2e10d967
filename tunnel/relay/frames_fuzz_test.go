package relay

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"golang.ngrok.com/muxado/v2"
)

// recorder is a connection that keeps the written bytes.
type recorder struct {
	net.Conn
	mu      sync.Mutex
	written bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.written.Write(b)
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// recordedFrames returns the frames that both sides of a session wrote: the relay, and its client, which
// answers a connection.
func recordedFrames(f *testing.F) (ofRelay, ofClient []byte) {
	f.Helper()
	one, other := net.Pipe()
	server, client := &recorder{Conn: one}, &recorder{Conn: other}
	out, in := muxado.Server(server, &muxado.Config{}), muxado.Client(client, &muxado.Config{})
	answered := make(chan error, 1)
	go func() {
		channel, err := in.Accept()
		if err == nil {
			_, err = io.Copy(channel, channel)
		}
		if err == nil {
			err = channel.Close()
		}
		answered <- err
	}()
	channel, err := out.OpenStream()
	if err != nil {
		f.Fatal(err)
	}
	if _, err := io.WriteString(channel, "hello"); err != nil {
		f.Fatal(err)
	}
	if err := channel.CloseWrite(); err != nil {
		f.Fatal(err)
	}
	if text, err := io.ReadAll(channel); err != nil || string(text) != "hello" {
		f.Fatal(string(text), err)
	}
	if err := <-answered; err != nil {
		f.Fatal(err)
	}
	_, _ = out.Close(), in.Close() // the other end has closed the connection
	out.Wait()
	in.Wait()
	server.mu.Lock()
	defer server.mu.Unlock()
	client.mu.Lock()
	defer client.mu.Unlock()
	return bytes.Clone(server.written.Bytes()), bytes.Clone(client.written.Bytes())
}

// speak greets and sends the frames. It drops the other side's answer.
func speak(conn net.Conn, frames []byte) {
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	_, _ = conn.Write(append([]byte(greeting), frames...)) // the other side may have hung up
	_ = conn.Close()
	reading.Wait()
}

// FuzzListen sends frames to a client, as a broken relay could.
func FuzzListen(f *testing.F) {
	ofRelay, ofClient := recordedFrames(f)
	f.Add(ofRelay)
	f.Add(ofClient)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frames []byte) {
		mine, theirs := net.Pipe()
		var speaking sync.WaitGroup
		speaking.Go(func() { speak(theirs, frames) })
		listener, err := Listen(t.Context(), mine)
		if err != nil {
			t.Fatal(err)
		}
		for {
			conn, err := listener.Accept()
			if err != nil {
				break // the end of the stream
			}
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
		_ = listener.Close() // it has ended already
		speaking.Wait()
	})
}

// FuzzServer sends frames to a relay, as a broken client could.
func FuzzServer(f *testing.F) {
	ofRelay, ofClient := recordedFrames(f)
	f.Add(ofRelay)
	f.Add(ofClient)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frames []byte) {
		public, control := newPipes(), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&Server{Public: public, Control: control}).Run(ctx) }()
		speak(control.dial(t), frames)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
