package observe

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Subscriber is told of events. It is called by the goroutine in which the event happened, must
// return at once, and must be safe for concurrent use.
type Subscriber interface {
	// Kinds returns the kinds of events that the subscriber is told of. It is called once.
	Kinds() []Kind

	// Receive takes one event of these kinds.
	Receive(Event)
}

// Sink passes events on to its subscribers, in the order in which they subscribed. The zero value
// has no subscribers; a nil sink never has any. It is safe for concurrent use.
type Sink struct {
	mu     sync.Mutex // for changes of the routes
	routes atomic.Pointer[[kindCount][]Subscriber]
}

// Subscribe adds a subscriber.
func (s *Sink) Subscribe(subscriber Subscriber) { s.replace(nil, subscriber) }

// replace lets a subscriber take the place of another. If it is nil, the other one is removed.
func (s *Sink) replace(old, with Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var routes [kindCount][]Subscriber
	if before := s.routes.Load(); before != nil {
		routes = *before
	}
	for kind := range routes {
		routes[kind] = slices.DeleteFunc(slices.Clone(routes[kind]), func(one Subscriber) bool { return one == old })
	}
	if with != nil {
		for _, kind := range with.Kinds() {
			routes[kind] = append(routes[kind], with)
		}
	}
	s.routes.Store(&routes)
}

// Wants reports whether any subscriber is told of a kind of events. It is for events with fields
// that are costly to fill in; others are passed to [Tell] as they are.
func (s *Sink) Wants(kind Kind) bool { return len(s.subscribers(kind)) > 0 }

func (s *Sink) subscribers(kind Kind) []Subscriber {
	if s == nil {
		return nil
	}
	routes := s.routes.Load()
	if routes == nil {
		return nil
	}
	return routes[kind]
}

// Tell passes an event on to the subscribers of its kind. An event that has no subscribers costs
// a check, and nothing is allocated for it.
func Tell[E Event](s *Sink, event E) {
	subscribers := s.subscribers(event.Kind())
	if len(subscribers) == 0 {
		return
	}
	told := Event(event)
	for _, subscriber := range subscribers {
		subscriber.Receive(told)
	}
}
