package engine

import "github.com/kopf-dev/kopf/sdk/internal/object"

// newTerm begins a new term: others may have acted on the objects since the last one.
func (ms *memories) newTerm() { ms.term.Add(1) }

// enterTerm makes the memory one of the present term. If the object has changed since the term before, another process
// may have handled it. An outcome that could not be written is then older than the object's records, and is dropped.
// Otherwise it is still to be written, or its handlers would be called again.
func (m *memory) enterTerm(term int64, obj *object.Object) {
	if m.term == term {
		return
	}
	m.term = term
	if !m.ledger.knows(obj.ResourceVersion) {
		m.outbox, m.handled = outbox{}, nil
	}
}
