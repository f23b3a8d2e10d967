package reconcile

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestPrune_KeepsLeftOutChildrenIfTheKindIsServedAgain(t *testing.T) {
	k := newKeptPolicy(t)
	k.kind.owned.Optional = true
	f, served := k.pass.family, *k.kind.resource
	f.resolve(nil)
	if err := k.pass.applyAll(t.Context(), []any{k.desired}); err != nil {
		t.Fatal(err)
	}
	f.resolve([]resources.Resource{served})
	k.event(t, 1) // the first list of the new stream
	for _, wave := range k.pass.waves(func(c *child) bool { return !k.pass.applied[c.kind][c.name()] }) {
		for _, d := range wave {
			t.Errorf("the pass prunes %s, which its handler has applied", d)
		}
	}
}
