package engine

import (
	"testing"
)

func TestMemory_WarnsOncePerObject(t *testing.T) {
	m, other := &memory{}, &memory{}
	if !m.flags.warnOnce("a") || m.flags.warnOnce("a") || !m.flags.warnOnce("b") || !other.flags.warnOnce("a") {
		t.Error("a warning is missing or repeated")
	}
}
