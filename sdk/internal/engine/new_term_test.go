package engine

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestMemory_NewTermDropsWhatIsOlderThanObject(t *testing.T) {
	for _, c := range []struct {
		name, version string
		term          int64
		kept          bool
	}{
		{"same term, newer version", "8", 0, true},
		{"new term, same version", "7", 1, true},
		{"new term, newer version", "8", 1, false},
		{"new term, version without order", "x", 1, false},
	} {
		m := &memory{ledger: ledger{taken: "7"}, handled: &handledStates{}}
		m.outbox.put(writes{})
		m.outbox.park("a", "b")
		m.enterTerm(c.term, object.Stub("v1", "Pod", "ns", "x", "uid", c.version))
		if kept := m.outbox.held != nil; kept != c.kept || (m.handled != nil) != c.kept || (m.outbox.parked != nil) != c.kept {
			t.Errorf("%s: kept is %t", c.name, kept)
		}
	}
}
