package evidence

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestAPrunedStatusIsWarnedAboutAndDoesNotLoop(t *testing.T) {
	w, c := newWorld(t), &calls{}
	pruning := *kex
	pruning.Group = w.ns + ".kopf.dev"
	w.define(&pruning, tree{"type": "object", "properties": tree{
		"spec":   anything,
		"status": tree{"type": "object", "properties": tree{"known": tree{"type": "string"}}},
	}})
	w.served(&pruning)
	w.res = &pruning
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource(pruning.Group, "kopfexamples"), func(_ context.Context, r *change) error {
			c.add("created")
			r.Patch.Set("status.known", "kept")
			r.Result = "unknown"
			return nil
		}, kopf.ID("created"))
		kopf.OnUpdate(r, kopf.Resource(pruning.Group, "kopfexamples"), func(_ context.Context, r *change) error {
			c.add("updated")
			r.Result = "unknown"
			return nil
		}, kopf.ID("created"))
	})
	w.create(example("x"))
	w.untilHandled("x")
	w.until("x", "has the known field", func(o *kopf.Object) bool { return o.Get("status.known") == "kept" })
	op.journal.wait(t, "Handling cycle is finished", 1)
	w.patch("x", tree{"spec": tree{"field": "changed"}})
	w.untilHandled("x")
	op.journal.wait(t, "Handling cycle is finished", 2)
	c.are(t, "created", "updated")
	if n := len(op.journal.patches()); n != 4 {
		t.Errorf("%d requests:\n%v", n, op.journal.text())
	}
	const warning = "status.created was thrown away by the schema"
	op.journal.wait(t, warning, 1)
	if n := op.journal.count(warning); n != 1 {
		t.Errorf("warned %d times", n)
	}
	for _, e := range op.journal.all() {
		if strings.Contains(e.line, warning) && !strings.Contains(e.line, "x-kubernetes-preserve-unknown-fields: true") {
			t.Errorf("how to mend it? %s", e.line)
		}
	}
}
