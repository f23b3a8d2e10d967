package inspect

import (
	"context"
	"io"
	"slices"
	"time"
)

// chunk is the number of objects in one message, so that neither side holds the text of
// ten thousand objects at once.
const chunk = 500

// subscription is a reader's place in the changes of a [Hub]. It is used by one
// goroutine at a time.
type subscription struct {
	hub   *Hub
	ready chan struct{} // holds one token if there may be something new

	began bool
	seen  uint64    // the revision up to which everything was delivered
	line  uint64    // the same for log lines
	last  time.Time // of the last batch
	ended bool
}

// subscribe begins to read. The subscription must be closed.
func (h *Hub) subscribe() *subscription {
	s := &subscription{hub: h, ready: make(chan struct{}, 1)}
	s.wake() // there is always a snapshot to send
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

// next waits for changes and returns all that there are, as one consistent batch. The
// first begins with the snapshot. It keeps the Hub's interval between batches. After
// the operator's Bye it returns [io.EOF].
func (s *subscription) next(ctx context.Context) ([]Message, error) {
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

// pending returns what [subscription.next] would, without waiting: none if there is
// nothing new.
func (s *subscription) pending() []Message {
	s.hub.mu.Lock()
	cut := s.cut()
	s.hub.mu.Unlock()

	messages := cut.messages()
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

// cut takes what is new for the subscription. The hub's mutex is held.
func (s *subscription) cut() cut {
	h := s.hub
	if s.ended {
		return cut{}
	}
	var c cut
	if !s.began || s.seen < h.forgotten {
		c = h.cutAll()
		s.began = true
	} else {
		c = h.cutAfter(s.seen)
		c.log, c.dropped = h.log.after(s.line)
	}
	s.seen, s.line = h.revision, h.log.last
	c.bye = h.bye
	s.ended = h.bye != nil
	return c
}

// cut is a part of the hub's state, as taken under its mutex. Objects are pointers here,
// so that the time under the mutex does not grow with their size.
type cut struct {
	all      bool // a complete snapshot
	revision uint64

	operator *Operator
	handlers []Handler
	served   *Served
	indices  []Index
	objects  []*Object
	gone     []Ref
	log      []LogLine
	dropped  int
	bye      *string
}

// cutAll takes everything. The mutex is held.
func (h *Hub) cutAll() cut {
	c := h.cutAfter(0)
	c.all, c.gone = true, nil
	operator, served := h.operator, h.served
	c.operator, c.served, c.handlers, c.indices = &operator, &served, h.handlersNow(), slices.Clone(h.indices)
	c.log, _ = h.log.after(0)
	return c
}

// cutAfter takes what has changed after the revision, but for the log. The mutex is held.
func (h *Hub) cutAfter(revision uint64) cut {
	c := cut{revision: h.revision}
	if h.operatorRev > revision {
		operator := h.operator
		c.operator = &operator
	}
	if h.handlersRev > revision {
		c.handlers = h.handlersNow()
	}
	if h.servedRev > revision {
		served := h.served
		c.served = &served
	}
	if h.indicesRev > revision {
		c.indices = slices.Clone(h.indices)
	}
	for e := h.changes.prev; e != &h.changes && e.revision > revision; e = e.prev {
		if e.object == nil {
			c.gone = append(c.gone, e.ref)
		} else {
			c.objects = append(c.objects, e.object)
		}
	}
	return c
}

func (c *cut) snapshot() *Snapshot {
	s := &Snapshot{
		Version:  Version,
		Revision: c.revision,
		Operator: *c.operator,
		Handlers: c.handlers,
		Served:   c.served.Resources,
		Unserved: c.served.Unserved,
		Indices:  c.indices,
		Objects:  make([]Object, len(c.objects)),
		Log:      c.log,
	}
	for i, o := range c.objects {
		s.Objects[i] = *o
	}
	return s
}

// messages renders the cut. The operator comes after the objects, so that what it tells
// about all of them is never ahead of them.
func (c *cut) messages() []Message {
	var list []Message
	if c.all {
		list = append(list, Message{Snapshot: c.snapshot()})
	} else {
		list = c.changes()
	}
	if c.bye != nil {
		list = append(list, Message{Bye: c.bye})
	}
	for i := range list {
		list[i].Revision = c.revision
		list[i].More = i < len(list)-1
	}
	return list
}

func (c *cut) changes() []Message {
	var list []Message
	if c.served != nil {
		list = append(list, Message{Served: c.served})
	}
	if c.handlers != nil {
		list = append(list, Message{Handlers: c.handlers})
	}
	if c.indices != nil {
		list = append(list, Message{Indices: c.indices})
	}
	if len(c.gone) > 0 {
		list = append(list, Message{Gone: c.gone})
	}
	for rest := c.objects; len(rest) > 0; {
		n := min(chunk, len(rest))
		objects := make([]Object, n)
		for i, o := range rest[:n] {
			objects[i] = *o
		}
		list = append(list, Message{Objects: objects})
		rest = rest[n:]
	}
	if len(c.log) > 0 || c.dropped > 0 {
		list = append(list, Message{Log: c.log, Dropped: c.dropped})
	}
	if c.operator != nil {
		list = append(list, Message{Operator: c.operator})
	}
	return list
}
