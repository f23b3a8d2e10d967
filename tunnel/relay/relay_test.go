package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.ngrok.com/muxado/v2"

	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return address{} }

// dial returns the other end of a connection that is accepted.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
	case <-p.closed:
		t.Fatal("the listener is closed")
	}
	return mine
}

// start runs a server until the end of the test.
func start(t *testing.T, idle time.Duration) (public net.Listener, control *pipes, ended <-chan error) {
	t.Helper()
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control = newPipes()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{Public: public, Control: control, Idle: idle}
	result := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { result <- s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return public, control, result
}

// serve answers the connections of a client with the name and the request.
func serve(t *testing.T, control *pipes, name string) net.Listener {
	t.Helper()
	listener, err := Listen(t.Context(), control.dial(t))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %s %d %v", name, r.URL.Path, n, err)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return listener
}

func post(public net.Listener, path, body string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	response, err := client.Post("http://"+public.Addr().String()+path, "", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

func TestRelay_CarriesManyConnectionsOverOneStream(t *testing.T) {
	public, control, _ := start(t, 0)
	serve(t, control, "one")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			size := i * 50_000 // some are larger than the window of a channel
			want := fmt.Sprintf("one /%d %d <nil>", i, size)
			if got, err := post(public, fmt.Sprintf("/%d", i), strings.Repeat("x", size)); err != nil || got != want {
				t.Errorf("%q instead of %q, %v", got, want, err)
			}
		})
	}
	all.Wait()
}

func TestRelay_ConnectionWaitsForClient(t *testing.T) {
	public, control, _ := start(t, 0)
	first := serve(t, control, "one")
	if got, err := post(public, "/", ""); err != nil || got != "one / 0 <nil>" {
		t.Fatal(got, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := post(public, "/", "")
		answered <- answer{text, err}
	}()
	serve(t, control, "two")
	if got := <-answered; got.err != nil || got.text != "two / 0 <nil>" {
		t.Error(got)
	}
}

func TestRelay_NewestClientGetsConnections(t *testing.T) {
	public, control, _ := start(t, 0)
	first := serve(t, control, "one")
	serve(t, control, "two")
	if _, err := first.Accept(); err == nil {
		t.Error("the former client is still connected")
	}
	if got, err := post(public, "/", ""); err != nil || got != "two / 0 <nil>" {
		t.Error(got, err)
	}
}

func TestServer_OvertakenClientIsClosed(t *testing.T) {
	session := func() muxado.Session {
		one, other := net.Pipe()
		peer := muxado.Client(other, &muxado.Config{})
		t.Cleanup(func() {
			_ = peer.Close() // it has ended with the other one
			peer.Wait()
		})
		return muxado.Server(one, &muxado.Config{})
	}
	s := &Server{changed: make(chan struct{})}
	older, newer := session(), session()
	s.replace(newer, 2)
	s.replace(older, 1)
	if s.client != newer {
		t.Error("the older client gets the connections")
	}
	older.Wait() // it was closed
	s.replace(nil, 0)
	newer.Wait()
}

func TestRelay_RejectsOtherVersions(t *testing.T) {
	_, control, _ := start(t, 0)
	conn := control.dial(t)
	var writing sync.WaitGroup
	defer writing.Wait()
	// The relay answers before it has read the whole greeting, and closes the connection: the pipe has no room for the rest.
	writing.Go(func() { _, _ = io.WriteString(conn, "kopf-relay 2\n") })
	if rest, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestListen_RejectsOthers(t *testing.T) {
	mine, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		if err := expectGreeting(theirs); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(theirs, "HTTP/1.1 400 Bad Request\n") // the client closes the connection
	}()
	_, err := Listen(t.Context(), mine)
	if wrong, ok := errors.AsType[*VersionError](err); !ok || wrong.Got != "H" {
		t.Errorf("the error is %v", err)
	}
}

func TestListen_SilentRelayIsLeft(t *testing.T) {
	mine, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	go func() {
		if err := expectGreeting(theirs); err != nil {
			t.Error(err)
		}
		cancel(late)
	}()
	if _, err := Listen(ctx, mine); !errors.Is(err, late) {
		t.Errorf("the error is %v", err)
	}
}

func TestServer_EndsWithoutClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Public: newPipes(), Control: newPipes(), Idle: 5 * time.Minute}
		began := time.Now()
		if err := s.Run(t.Context()); !errors.Is(err, ErrIdle) || time.Since(began) != 5*time.Minute {
			t.Errorf("it ends after %s: %v", time.Since(began), err)
		}
	})
}

func TestServer_ClientKeepsItRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := newPipes()
		s := &Server{Public: newPipes(), Control: control, Idle: 5 * time.Minute}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context()) }()
		time.Sleep(4 * time.Minute)
		listener, err := Listen(t.Context(), control.dial(t))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		closed := time.Now()
		if err := <-ended; !errors.Is(err, ErrIdle) || time.Since(closed) != 5*time.Minute {
			t.Errorf("it ends after %s: %v", time.Since(closed), err)
		}
	})
}
