package queue

import "github.com/kopf-dev/kopf/sdk/internal/watch"

// Gate holds objects back: what comes behind a closed gate is queued, and folded as usual,
// but worked on only when the gate is opened. The zero value is closed. A gate is of one
// queue.
type Gate struct {
	open bool
	held []*entry
}

// PutBehind is [Queue.Put] for an object that must not be worked on before the gate is
// open. What goes on for the object already is not interrupted.
func (q *Queue) PutBehind(gate *Gate, resource string, event watch.Event) {
	q.put(gate, resource, event)
}

// Open lets go what the gate has held back, in the order in which it came.
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

// admit puts an object into the row, or holds it back.
func (q *Queue) admit(e *entry) {
	if !q.hold(e) {
		q.enqueue(e)
	}
}

// hold keeps an object back if its gate is closed.
func (q *Queue) hold(e *entry) bool {
	if e.gate == nil || e.gate.open {
		e.gate = nil
		return false
	}
	e.state = held
	e.gate.held = append(e.gate.held, e)
	return true
}
