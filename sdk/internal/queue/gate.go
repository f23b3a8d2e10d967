package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Gate holds objects back: their events are queued, but not processed before the gate is open. The zero value is closed.
// A gate must be used with one queue only.
type Gate struct {
	open bool
	held []*entry
}

// PutBehind is [Queue.Put] for an object that must not be processed before the gate is open. It does not interrupt
// processing.
func (q *Queue) PutBehind(gate *Gate, resource string, event watch.Event) {
	q.put(gate, resource, event)
}

// Open opens a gate. The objects behind the gate are processed by class, and within a class in the order of their arrival.
func (q *Queue) Open(gate *Gate) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gate.open = true
	if q.stopped {
		return
	}
	for _, e := range gate.held {
		if e.state == held && e.gate == gate {
			e.gate = nil
			q.enqueue(e)
		}
	}
	gate.held = nil
}

// admit puts an object into the ready list, unless its gate holds it back.
func (q *Queue) admit(e *entry) {
	if !q.hold(e) {
		q.enqueue(e)
	}
}

// hold holds an object back if its gate is closed. It reports whether the gate is closed.
func (q *Queue) hold(e *entry) bool {
	if e.gate == nil || e.gate.open {
		e.gate = nil
		return false
	}
	e.state = held
	e.gate.held = append(e.gate.held, e)
	return true
}
