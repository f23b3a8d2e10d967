package inspector

import (
	"context"
	"io"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// subscription is a reader's position in the changes of a [Hub]. It is used by one goroutine at a
// time.
type subscription struct {
	hub   *Hub
	ready chan struct{} // has one element if there may be changes

	began  bool
	seen   uint64    // revision up to which everything was delivered
	line   uint64    // number of the last delivered log line
	review uint64    // number of the last delivered review
	last   time.Time // time of the last batch
	ended  bool
}

// subscribe returns a new subscription, which the caller must close.
func (h *Hub) subscribe() *subscription {
	s := &subscription{hub: h, ready: make(chan struct{}, 1)}
	s.wake() // for the snapshot
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscriptions[s] = struct{}{}
	return s
}

// close ends the subscription.
func (s *subscription) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions, s)
}

// next waits for changes and returns all of them as one consistent batch. The first batch begins with
// the snapshot. It keeps the hub's interval between batches. After the operator's Bye, it returns
// [io.EOF].
func (s *subscription) next(ctx context.Context) ([]inspect.Message, error) {
	if s.ended {
		return nil, io.EOF
	}
	if pause := s.hub.interval - time.Since(s.last); s.began && pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ready:
		}
		if messages := s.pending(); len(messages) > 0 {
			return messages, nil
		}
	}
}

// pending returns the changes without waiting, or nil if there are none.
func (s *subscription) pending() []inspect.Message {
	s.hub.mu.Lock()
	b := s.take()
	s.hub.mu.Unlock()

	messages := b.messages()
	if len(messages) > 0 {
		s.last = time.Now()
	}
	return messages
}

// wake marks the subscription as having something to read.
func (s *subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the changes that are new to the subscription. The caller holds the hub's mutex.
func (s *subscription) take() batch {
	h := s.hub
	if s.ended {
		return batch{}
	}
	var c batch
	if !s.began || s.seen < h.forgotten {
		c = h.batchOfAll()
		s.began = true
	} else {
		c = h.batchAfter(s.seen)
		c.log, c.dropped = h.log.after(s.line)
		c.reviews, _ = h.reviews.after(s.review)
	}
	s.seen, s.line, s.review = h.revision, h.log.last, h.reviews.last
	c.bye = h.bye
	s.ended = h.bye != nil
	return c
}
