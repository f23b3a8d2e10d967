package outbox

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestOutbox_HoldsLimitedTransformations(t *testing.T) {
	var o Outbox
	discarded := o.Put(Writes{Handlers: patch.NewPatch(), Own: patch.NewPatch()})
	for n := range int64(2 * maxHeldFns) {
		p := patch.NewPatch()
		p.Set(object.Path{"status", "events"}, n)
		p.AddFn(func(map[string]any) error { return nil })
		discarded += o.Put(Writes{Handlers: p})
	}
	if kept := len(o.Held.Handlers.Fns()); kept != maxHeldFns || discarded != maxHeldFns {
		t.Errorf("%d are kept, %d discarded", kept, discarded)
	}
	if last, _ := o.Held.Handlers.Lookup(object.Path{"status", "events"}); last != int64(2*maxHeldFns-1) {
		t.Errorf("the merge patch has %v", last)
	}
}
