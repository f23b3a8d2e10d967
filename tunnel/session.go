package tunnel

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/dynamic"
)

// Session is a tunnel that is kept open: if it ends, it is opened again. It outlives the operators that it passes
// reviews to.
type Session struct {
	// ID identifies the session in its marks.
	ID string
	// Way is the name of the way, and Why the reason for the choice.
	Way, Why string
	// Forwarder passes the reviews on.
	Forwarder *Forwarder

	way     Way
	options Options
	client  dynamic.Interface
	unlock  func() error

	keeping sync.WaitGroup
	stop    context.CancelFunc // ends the goroutine that keeps the way open
	opened  *openedWay         // way that is open after the end of that goroutine, or nil

	mu     sync.Mutex
	status Status
}

// Status is how the API server reaches the tunnel, and whether it does.
type Status struct {
	// Target is what webhook configurations have to name; the path is a secret.
	Target Target
	// CA is the authority that API servers have to trust, in PEM. Without one, they trust those of their
	// system.
	CA []byte
	// Lost is why the API server cannot call, while the way is being opened again; nil if it can.
	Lost error
}

// same reports whether two statuses are the same for listeners.
func (s *Status) same(other *Status) bool {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return s.Target.same(other.Target) && bytes.Equal(s.CA, other.CA) && text(s.Lost) == text(other.Lost)
}

// Status returns the status of the tunnel.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// setStatus changes the status, and calls Changed if the status differs.
func (s *Session) setStatus(change func(*Status)) {
	s.mu.Lock()
	former := s.status
	change(&s.status)
	now := s.status
	s.mu.Unlock()
	if !former.same(&now) {
		s.options.Changed(s)
	}
}

// describe returns one line with the chosen way and the reason.
func (s *Session) describe(w *openedWay) string {
	text := "webhooks: " + s.Way + ", since " + s.Why + "; the API server reaches " + w.entrance.Target.String()
	if w.entrance.Detail != "" {
		text += " (" + w.entrance.Detail + ")"
	}
	return text
}

// Close closes the way, after the operators have ended. If the cluster still exists, Close first removes the webhook
// configurations, so that the API server does not call a closed way.
func (s *Session) Close(ctx context.Context, clusterIsThere bool) error {
	s.Forwarder.Hold()
	s.stop()
	s.keeping.Wait()
	var failed error
	if clusterIsThere {
		failed = removeOwn(ctx, s.options.Cluster.Config, s.ID)
	}
	s.Forwarder.end()
	if s.opened != nil {
		failed = errors.Join(failed, s.opened.close(ctx))
	}
	return errors.Join(failed, s.unlock())
}
