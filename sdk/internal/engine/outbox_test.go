package engine

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestOutbox_HoldsLimitedTransformations(t *testing.T) {
	var o outbox
	discarded := o.put(writes{handlers: patch.NewPatch(), own: patch.NewPatch()})
	for n := range int64(2 * maxHeldFns) {
		p := patch.NewPatch()
		p.Set(object.Path{"status", "events"}, n)
		p.AddFn(func(map[string]any) error { return nil })
		discarded += o.put(writes{handlers: p})
	}
	if kept := len(o.held.handlers.Fns()); kept != maxHeldFns || discarded != maxHeldFns {
		t.Errorf("%d are kept, %d discarded", kept, discarded)
	}
	if last, _ := o.held.handlers.Lookup(object.Path{"status", "events"}); last != int64(2*maxHeldFns-1) {
		t.Errorf("the merge patch has %v", last)
	}
}
