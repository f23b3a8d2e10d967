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
		kept          bool
	}{
		{"same term, newer version", "8", 0, true},
		{"new term, same version", "7", 1, true},
		{"new term, newer version", "8", 1, false},
		{"new term, version without order", "x", 1, false},
	} {
		m := &Memory{Ledger: Ledger{taken: "7"}, Handled: &HandledStates{}}
		m.Outbox.Put(outbox.Writes{})
		m.Outbox.Parked = map[string]string{"a": "b"}
		m.Outbox.Steps = map[outbox.StepID]state.Step{{Handler: "fn", Name: "make"}: {}}
		if outdated := m.EnterTerm(c.term, object.Stub("v1", "Pod", "ns", "x", "uid", c.version)); outdated == c.kept {
			t.Errorf("%s: outdated is %t", c.name, outdated)
		}
		if kept := m.Outbox.Held != nil; kept != c.kept || (m.Handled != nil) != c.kept || (m.Outbox.Parked != nil) != c.kept {
			t.Errorf("%s: kept is %t", c.name, kept)
		}
		if len(m.Outbox.Steps) != 1 {
			t.Errorf("%s: the result of a step is lost, so its effect would be repeated", c.name)
		}
	}
}
