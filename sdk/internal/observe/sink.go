package observe

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Subscriber receives events. It is called by the goroutine that emits the event, must return at once, and must be
// safe for concurrent use.
type Subscriber interface {
	// Kinds returns the kinds of events that the subscriber receives. It is called once.
	Kinds() []Kind

	// Receive handles one event of these kinds.
	Receive(Event)
}

// Sink passes events on to its subscribers, in the order of their subscription. The zero value has no subscribers; a nil sink
// never has subscribers. It is safe for concurrent use.
type Sink struct {
	mu     sync.Mutex // held while the routes change
	routes atomic.Pointer[[kindCount][]Subscriber]
}

// Subscribe adds a subscriber.
func (s *Sink) Subscribe(subscriber Subscriber) { s.replace(nil, subscriber) }

// replace replaces the subscriber old by with. If with is nil, it removes old.
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

// Wants reports whether any subscriber receives a kind of events. Callers check it before they fill in costly fields;
// other events are passed to [Emit] without a check.
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

// Emit emits an event to the subscribers of its kind. Without subscribers, an event costs a check and no allocation.
func Emit[E Event](s *Sink, event E) {
	subscribers := s.subscribers(event.Kind())
	if len(subscribers) == 0 {
		return
	}
	told := Event(event)
	for _, subscriber := range subscribers {
		subscriber.Receive(told)
	}
}
