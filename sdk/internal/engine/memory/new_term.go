package memory

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// NewTerm starts a new term, because other operators may have handled the objects since the last one.
func (ms *Memories) NewTerm() { ms.Term.Add(1) }

// EnterTerm moves the memory to the current term. If the object changed since the last term, another process may have
// handled it: an unwritten outcome is older than the object's records, and is dropped. Otherwise the outcome is kept,
// because its handlers would be called again without it. It reports whether another process may have handled the object.
func (m *Memory) EnterTerm(term int64, obj *object.Object) (outdated bool) {
	if m.Term == term {
		return false
	}
	m.Term = term
	if m.Ledger.knows(obj.ResourceVersion) {
		return false
	}
	m.Outbox, m.Handled = outbox.Outbox{Steps: m.Outbox.Steps}, nil // the effects of the steps stay done
	return true
}
