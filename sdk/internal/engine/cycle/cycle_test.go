package cycle

import (
	"reflect"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
)

func TestCycle_HasFewFields(t *testing.T) {
	for of, most := range map[reflect.Type]int{reflect.TypeFor[cycle](): 15, reflect.TypeFor[memory.Memory](): 14} {
		if n := of.NumField(); n > most {
			t.Errorf("%s has %d fields, and may have %d: group those that change together", of, n, most)
		}
	}
}
