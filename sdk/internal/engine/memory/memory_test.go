package memory

import (
	"testing"
)

func TestMemory_WarnsOncePerObject(t *testing.T) {
	m, other := &Memory{}, &Memory{}
	if !m.Flags.WarnOnce("a") || m.Flags.WarnOnce("a") || !m.Flags.WarnOnce("b") || !other.Flags.WarnOnce("a") {
		t.Error("a warning is missing or repeated")
	}
}
