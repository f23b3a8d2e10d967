package memory

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// NewTerm begins a new term: others may have acted on the objects since the last one.
func (ms *Memories) NewTerm() { ms.Term.Add(1) }

// EnterTerm makes the memory one of the present term. If the object has changed since the term before, another process
// may have handled it. An outcome that could not be written is then older than the object's records, and is dropped.
// Otherwise it is still to be written, or its handlers would be called again.
func (m *Memory) EnterTerm(term int64, obj *object.Object) {
	if m.Term == term {
		return
	}
	m.Term = term
	if !m.Ledger.knows(obj.ResourceVersion) {
		m.Outbox, m.Handled = outbox.Outbox{}, nil
	}
}
