package observe

import "sync"

// Backlog is a subscriber that keeps events for a later subscriber. The metrics need it, because startup handlers can
// configure them.
type Backlog struct {
	kinds []Kind

	mu     sync.Mutex
	closed bool
	to     Subscriber
	events []Event
}

// NewBacklog returns a backlog for events of the given kinds.
func NewBacklog(kinds ...Kind) *Backlog { return &Backlog{kinds: kinds} }

// Kinds implements [Subscriber].
func (b *Backlog) Kinds() []Kind { return b.kinds }

// Receive implements [Subscriber].
func (b *Backlog) Receive(event Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.closed:
		b.events = append(b.events, event)
	case b.to != nil:
		b.to.Receive(event) // the sink chose the backlog before the handover
	}
}

// HandOver passes the kept events on to a subscriber, which replaces the backlog in the sink. If the subscriber is nil, the
// events are dropped.
func (b *Backlog) HandOver(sink *Sink, to Subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.to = true, to
	if to != nil {
		for _, event := range b.events {
			to.Receive(event)
		}
	}
	b.events = nil
	sink.replace(b, to)
}
