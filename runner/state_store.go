package runner

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxLog is how many log lines a State has, give or take: at twice as many the older
// half is forgotten.
const maxLog = 5000

// store holds the State of a session. It is written by several goroutines; the
// immutable State is made when somebody asks for it, not at every change.
type store struct {
	mu      sync.Mutex
	state   State
	given   *State // what was given away, if it is still true
	changes chan struct{}
	closed  bool
}

func newStore() *store {
	return &store{
		state: State{
			Build:   Build{Phase: BuildIdle},
			Process: Process{Phase: ProcessNone},
			Cluster: Cluster{Phase: ClusterNone},
		},
		changes: make(chan struct{}, 1),
	}
}

// update changes the state. Slices and pointers in it are replaced, never written to.
func (s *store) update(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	s.state.Revision++
	s.given = nil
	if s.closed {
		return
	}
	select {
	case s.changes <- struct{}{}:
	default:
	}
}

func (s *store) get() *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		c := s.state
		s.given = &c
	}
	return s.given
}

// close ends the channel of changes.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.changes)
	}
}

// log appends lines. States that were given away end before them, so the array behind
// them is shared until it has grown too long.
func (s *store) log(dropped int, lines ...inspect.LogLine) {
	s.update(func(state *State) {
		state.LogDropped += dropped
		log := append(state.Log, lines...)
		if len(log) > 2*maxLog {
			state.LogDropped += len(log) - maxLog
			log = append(make([]inspect.LogLine, 0, 2*maxLog), log[len(log)-maxLog:]...)
		}
		state.Log = log
	})
}

// say logs a line of the session itself.
func (s *store) say(level, message string) {
	s.log(0, inspect.LogLine{At: time.Now(), Level: level, Message: message})
}
