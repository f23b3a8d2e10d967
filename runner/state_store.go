package runner

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxLog is the number of log lines that are kept. At twice this number, the older half is dropped.
const maxLog = 5000

// store holds the State of a session. It may be used by several goroutines. The immutable
// State is copied when it is read, not at every change.
type store struct {
	mu      sync.Mutex
	state   State
	given   *State // the last returned copy; nil after a change
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

// update changes the state. The function must replace slices and pointers, not modify them.
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

// close closes the channel of changes.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.changes)
	}
}

// log appends lines. Returned states end before the new lines, so that they can share the
// underlying array.
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
func (s *store) say(level inspect.LogLevel, message string) {
	s.log(0, inspect.LogLine{At: time.Now(), Level: level, Message: message})
}
