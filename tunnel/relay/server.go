package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.ngrok.com/muxado/v2"
)

const (
	// greetTimeout limits the greeting of a client.
	greetTimeout = 10 * time.Second

	// clientWait is how long a connection waits for a client, which may be about to reconnect.
	clientWait = 10 * time.Second

	// maxConnections limits the connections at the same time; others wait to be accepted.
	maxConnections = 500
)

// Server is the part of the relay in the cluster.
type Server struct {
	// Public accepts the connections to carry, and Control the connections of clients. The newest client gets the
	// connections, because it connects after the previous client was lost.
	Public, Control net.Listener

	// Idle is how long the server runs without a client: what started it has probably died. It runs on if
	// it is 0.
	Idle time.Duration

	// Logger is for what happens. Nothing is logged if it is nil.
	Logger *slog.Logger

	mu      sync.Mutex
	client  muxado.Session // nil while there is none
	number  uint64         // number of the newest client so far
	clients uint64         // number of clients that have connected
	changed chan struct{}  // closed when client is replaced
	idle    *time.Timer    // nil without a limit
}

// ErrIdle is the error of a server that had no client for too long.
var ErrIdle = errors.New("no client for too long")

// Run serves until the context is cancelled, a listener fails, or there was no client for too long. It closes
// the listeners, and returns when all its goroutines have ended.
func (s *Server) Run(ctx context.Context) error {
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.changed = make(chan struct{})
	if s.Idle > 0 {
		s.idle = time.AfterFunc(s.Idle, func() { cancel(ErrIdle) })
		defer s.idle.Stop()
	}
	var running sync.WaitGroup
	serve := func(name string, listener net.Listener, limit int, handle func(context.Context, net.Conn)) {
		slots := make(chan struct{}, limit)
		running.Go(func() {
			for {
				slots <- struct{}{}
				conn, err := listener.Accept()
				if err != nil {
					cancel(fmt.Errorf("accept at the %s port: %w", name, err))
					return
				}
				running.Go(func() {
					defer func() { <-slots }()
					handle(ctx, conn)
				})
			}
		})
	}
	serve("control", s.Control, maxConnections, s.attach)
	serve("public", s.Public, maxConnections, s.carry)
	<-ctx.Done()
	// An accept that fails from now on is the end, not a failure.
	_, _ = s.Public.Close(), s.Control.Close()
	s.replace(nil, 0)
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// attach makes the connection the client, until it ends or another one comes.
func (s *Server) attach(ctx context.Context, conn net.Conn) {
	s.mu.Lock()
	s.clients++
	number := s.clients // before the client knows that it is connected, and others can be newer
	s.mu.Unlock()
	_ = conn.SetDeadline(time.Now().Add(greetTimeout)) // a connection that has ended fails below
	err := expectGreeting(conn)
	if _, failed := io.WriteString(conn, greeting); err == nil {
		err = failed
	}
	if err != nil {
		s.Logger.Warn("A client was rejected", "error", err)
		_ = conn.Close() // the error was reported
		return
	}
	_ = conn.SetDeadline(time.Time{})
	session := muxado.Server(conn, &muxado.Config{})
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	s.replace(session, number)
	s.Logger.Info("A client is there")
	err, _, _ = session.Wait()
	s.forget(session)
	s.Logger.Info("The client has disconnected", "reason", err)
}

// replace closes the current client, and replaces it by the next client, or by none. If a newer client has already
// connected, it closes the given client instead.
func (s *Server) replace(next muxado.Session, number uint64) {
	s.mu.Lock()
	if next != nil && number < s.number {
		s.mu.Unlock()
		_ = next.Close() // it may have ended before
		return
	}
	former := s.client
	s.client, s.number = next, max(number, s.number)
	close(s.changed)
	s.changed = make(chan struct{})
	if s.idle != nil && next != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	if former != nil {
		_ = former.Close() // it may have ended before
	}
}

// forget removes a client that has ended, unless another one has replaced it.
func (s *Server) forget(ended muxado.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != ended {
		return
	}
	s.client = nil
	if s.idle != nil {
		s.idle.Reset(s.Idle)
	}
}

// carry opens a channel to the client and copies the bytes of the connection in both directions.
func (s *Server) carry(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	channel, err := s.open(ctx)
	if err != nil {
		s.Logger.Warn("A connection was dropped", "from", conn.RemoteAddr(), "error", err)
		return
	}
	defer channel.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = conn.Close(), channel.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(conn, channel) // an error ends the connection, which both ends see
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(channel, conn)
	_ = channel.CloseWrite()
	<-done
}

// open opens a channel to the client, and waits for one that may be about to come back.
func (s *Server) open(ctx context.Context) (muxado.Stream, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clientWait, errors.New("no client is connected"))
	defer cancel()
	for {
		s.mu.Lock()
		client, changed := s.client, s.changed
		s.mu.Unlock()
		if client != nil {
			if channel, err := client.OpenStream(); err == nil {
				return channel, nil
			}
			s.forget(client)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
