package slots

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Turns are the turns of an object's handlers. The zero value is empty. They are safe for concurrent use.
type Turns struct {
	mu sync.Mutex
	of map[*handlers.Handler]*Turn
}

// Of returns the turn of a handler. If there is none, Of creates the turn with the function, or returns nil if the function is nil.
func (ts *Turns) Of(h *handlers.Handler, create func() *Turn) *Turn {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.of[h]; t != nil || create == nil {
		return t
	}
	if ts.of == nil {
		ts.of = make(map[*handlers.Handler]*Turn, 1)
	}
	t := create()
	ts.of[h] = t
	return t
}

// Leave makes all turns leave. Running calls keep their slots until they end.
func (ts *Turns) Leave() {
	for _, t := range ts.which(func(*Turn) bool { return true }) {
		t.Leave()
	}
}

// StepOut makes all turns leave their places in line.
func (ts *Turns) StepOut() {
	for _, t := range ts.which(func(t *Turn) bool { return t.state == waiting }) {
		t.leave(waiting)
	}
}

// Rest reports whether no turn waits or has a slot.
func (ts *Turns) Rest() bool {
	return len(ts.which(func(t *Turn) bool { return t.state != resting })) == 0
}

// BeginCycle begins a cycle of the object, which can use the slots that are reserved for the object.
func (ts *Turns) BeginCycle() {
	ts.which(func(t *Turn) bool {
		t.seen = t.state == reserved
		return false
	})
}

// EndCycle gives up the reserved slots that the cycle has left unused, because the object needs them no longer, or cannot use
// them now. Another cycle follows for slots that became free during this one. It returns true if no turn waits or has a slot.
func (ts *Turns) EndCycle() (rest bool) {
	for _, t := range ts.which(func(t *Turn) bool { return t.state == reserved && t.seen }) {
		t.Leave()
	}
	return ts.Rest()
}

// which returns the turns that meet a condition, which is checked with the lock of their line.
func (ts *Turns) which(meets func(*Turn) bool) (turns []*Turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.of {
		t.line.mu.Lock()
		if meets(t) {
			turns = append(turns, t)
		}
		t.line.mu.Unlock()
	}
	return turns
}
