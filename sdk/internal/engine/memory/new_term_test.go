package memory

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func TestMemory_NewTermDropsWhatIsOlderThanObject(t *testing.T) {
	for _, c := range []struct {
		name, version string
		term          int64
		read, kept    bool
	}{
		{"same term, newer version", "8", 0, false, true},
		{"new term, same version", "7", 1, false, true},
		{"new term, read version", "7", 1, true, false},
		{"new term, newer version", "8", 1, false, false},
		{"new term, version without order", "x", 1, false, false},
	} {
		m := &Memory{Ledger: Ledger{taken: "7"}, Handled: &HandledStates{}, Life: Life{Foreign: c.read}}
		if c.read {
			m.Ledger = Ledger{taken: "6", Answer: object.Stub("v1", "Pod", "ns", "x", "uid", "7")}
		}
		m.Outbox.Put(outbox.Writes{})
		m.Outbox.Parked = map[string]string{"a": "b"}
		made, started := outbox.StepID{Handler: "fn", Name: "make"}, outbox.StepID{Handler: "fn", Name: "mail"}
		m.Outbox.Steps = map[outbox.StepID]state.Step{made: {At: "2026-01-02T03:04:05", Result: []byte("1")}, started: {At: "2026-01-02T03:04:05"}}
		if outdated := m.EnterTerm(c.term, object.Stub("v1", "Pod", "ns", "x", "uid", c.version)); outdated == c.kept {
			t.Errorf("%s: outdated is %t", c.name, outdated)
		}
		if m.Life.Shared != (c.term > 0) {
			t.Errorf("%s: the records are compared: %t", c.name, m.Life.Shared)
		}
		if kept := m.Outbox.Held != nil; kept != c.kept || (m.Handled != nil) != c.kept || (m.Outbox.Parked != nil) != c.kept {
			t.Errorf("%s: kept is %t", c.name, kept)
		}
		if _, kept := m.Outbox.Steps[made]; !kept {
			t.Errorf("%s: the result of a step is lost, so its effect would be repeated", c.name)
		}
		if _, kept := m.Outbox.Steps[started]; kept != (c.term == 0) {
			t.Errorf("%s: the start without a call is kept: %t; in another term, another process may have called the step", c.name, kept)
		}
	}
}
