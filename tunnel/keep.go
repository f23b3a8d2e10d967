package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pauses between attempts to reopen a closed way.
const (
	reopenMinPause = time.Second
	reopenMaxPause = 30 * time.Second
)

// errListenerEnded is the reason if a listener has ended without one.
var errListenerEnded = errors.New("it accepts no more connections")

// keepOpen keeps the way open until the session is closed.
func (s *Session) keepOpen(ctx context.Context, w *openedWay) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.keeping.Go(func() { s.opened = s.keep(ctx, w) })
}

// keep follows the way, and opens it again when it has ended. It returns the way that is open at the end of the
// context, or nil.
func (s *Session) keep(ctx context.Context, w *openedWay) *openedWay {
	for w != nil {
		select {
		case <-ctx.Done():
			return w
		case config := <-w.announced:
			ca := s.authority(config)
			s.setStatus(func(status *Status) { status.CA = ca })
		case err := <-w.failed:
			if err == nil {
				err = errListenerEnded
			}
			w = s.reopen(ctx, w, err)
		case <-w.entrance.Link.changes():
			if err := s.followLink(ctx, w); err != nil {
				w = s.reopen(ctx, w, err)
			}
		}
	}
	return nil
}

// followLink reports that the connection of the way is lost, or, after a check, that the API server can call again.
// An error means that the API server cannot call although the connection is restored.
func (s *Session) followLink(ctx context.Context, w *openedWay) error {
	link := w.entrance.Link
	lost := link.state()
	losses, last := link.history()
	if losses > w.losses || lost != nil { // perhaps it was lost for a moment
		w.losses = losses
		s.setStatus(func(status *Status) { status.Lost = last })
	}
	if lost != nil || s.Status().Lost == nil {
		return nil
	}
	err := s.check(ctx, w, s.Status().CA)
	switch {
	case ctx.Err() != nil || link.state() != nil:
		return nil // the later change reports it
	case err != nil:
		return err
	}
	s.setStatus(func(status *Status) { status.Lost = nil })
	return nil
}

// reopen reopens a closed way, and reports the change. It returns nil if the context ends before.
func (s *Session) reopen(ctx context.Context, ended *openedWay, reason error) *openedWay {
	tell := func(lost error) { s.setStatus(func(status *Status) { status.Lost = lost }) }
	tell(reason)
	if err := ended.close(ctx); err != nil {
		s.options.Say(true, fmt.Sprintf("webhooks: close the %s that has ended: %v", s.Way, err))
	}
	for pause := reopenMinPause; ; pause = min(2*pause, reopenMaxPause) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		w, err := s.open(ctx)
		switch {
		case ctx.Err() != nil:
			return w
		case err != nil:
			tell(err)
			continue
		}
		tell(nil)
		return w
	}
}
