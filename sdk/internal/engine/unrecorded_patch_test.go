package engine

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestUnrecorded_HoldsLimitedTransformations(t *testing.T) {
	held, discarded := unrecorded{handlers: patch.NewPatch(), own: patch.NewPatch()}, 0
	for n := range int64(2 * maxHeldFns) {
		p := patch.NewPatch()
		p.Set(object.Path{"status", "events"}, n)
		p.AddFn(func(map[string]any) error { return nil })
		discarded += held.add(p)
	}
	if kept := len(held.handlers.Fns()); kept != maxHeldFns || discarded != maxHeldFns {
		t.Errorf("%d are kept, %d discarded", kept, discarded)
	}
	if last, _ := held.handlers.Lookup(object.Path{"status", "events"}); last != int64(2*maxHeldFns-1) {
		t.Errorf("the merge patch has %v", last)
	}
}
