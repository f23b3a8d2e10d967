package cycle

import (
	"testing"
	"unsafe"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
)

// TestSteps_ObjectsWithoutStepsCostNoBytes holds the sizes that they have without steps.
func TestSteps_ObjectsWithoutStepsCostNoBytes(t *testing.T) {
	for name, size := range map[string][2]uintptr{
		"cycle": {unsafe.Sizeof(cycle{}), 600}, "subhandlers": {unsafe.Sizeof(subhandlers{}), 64},
		"view": {unsafe.Sizeof(plan.View{}), 176}, "memory": {unsafe.Sizeof(memory.Memory{}), 384},
	} {
		if size[0] > size[1] {
			t.Errorf("%s has %d bytes, want at most %d", name, size[0], size[1])
		}
	}
}
