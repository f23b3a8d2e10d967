package tunnel

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// The pauses between attempts to connect to a relay again, and the time for one.
const (
	relayMinPause = 500 * time.Millisecond
	relayMaxPause = 10 * time.Second
	relayAttempt  = 30 * time.Second
)

var errRelayAttempt = fmt.Errorf("not connected after %s", relayAttempt)

// relayListener accepts the connections of a relay, and connects again when the stream to it is lost.
type relayListener struct {
	ctx     context.Context
	cancel  context.CancelFunc
	connect func(context.Context) (net.Listener, error)
	link    *Link

	mu      sync.Mutex
	current net.Listener
}

func newRelayListener(ctx context.Context, first net.Listener, connect func(context.Context) (net.Listener, error), link *Link) *relayListener {
	l := &relayListener{connect: connect, link: link, current: first}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// Accept implements [net.Listener].
func (l *relayListener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		current := l.current
		l.mu.Unlock()
		conn, err := current.Accept()
		if err == nil {
			return conn, nil
		}
		if l.ctx.Err() != nil {
			return nil, net.ErrClosed
		}
		l.link.Lose(fmt.Errorf("the connection to the relay: %w", err))
		if err := l.reconnect(); err != nil {
			return nil, err
		}
		l.link.Restore()
	}
}

func (l *relayListener) reconnect() error {
	for pause := relayMinPause; ; pause = min(2*pause, relayMaxPause) {
		next, err := l.tryConnect()
		if err == nil {
			l.mu.Lock()
			l.current = next
			l.mu.Unlock()
			if l.ctx.Err() != nil {
				_ = next.Close() // Close has seen the previous listener
			}
			return nil
		}
		l.link.Lose(fmt.Errorf("the relay: %w", err))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.ctx.Done():
			timer.Stop()
			return net.ErrClosed
		}
	}
}

func (l *relayListener) tryConnect() (net.Listener, error) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, relayAttempt, errRelayAttempt)
	defer cancel()
	return l.connect(ctx)
}

// Close implements [net.Listener].
func (l *relayListener) Close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current.Close()
}

// Addr implements [net.Listener].
func (l *relayListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current.Addr()
}
