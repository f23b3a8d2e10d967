package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// pruning makes a resource of the test's own, whose schema throws away most of the status.
func (w *world) pruning() kopf.Selector {
	w.t.Helper()
	res := *kex
	res.Group = w.ns + ".kopf.dev"
	w.define(&res, tree{"type": "object", "properties": tree{
		"spec":   anything,
		"status": tree{"type": "object", "properties": tree{"known": tree{"type": "string"}}},
	}})
	w.served(&res)
	w.res = &res
	return kopf.Resource(res.Group, "kopfexamples")
}

func TestAPrunedStatusIsWarnedAboutAndDoesNotLoop(t *testing.T) {
	w, c := newWorld(t), &calls{}
	selector := w.pruning()
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, selector, func(_ context.Context, r *change) error {
			c.add("created")
			r.Patch.Set("status.known", "kept")
			r.Result = "unknown"
			return nil
		}, kopf.ID("created"))
		kopf.OnUpdate(r, selector, func(_ context.Context, r *change) error {
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
	if n := op.journal.count(warning); n != 1 {
		t.Errorf("warned %d times", n)
	}
	for _, e := range op.journal.all() {
		if strings.Contains(e.line, warning) && !strings.Contains(e.line, "x-kubernetes-preserve-unknown-fields: true") {
			t.Errorf("how to mend it? %s", e.line)
		}
	}
}

func TestProgressInAPrunedStatusDoesNotLoop(t *testing.T) {
	w, c := newWorld(t), &calls{}
	selector := w.pruning()
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, selector, c.does("create_1"), kopf.ID("create_1"))
		kopf.OnCreate(r, selector, c.fails("create_2", kopf.Temporaryf(100*time.Millisecond, "later")), kopf.ID("create_2"))
	}, setup{settings: func(s *kopf.Settings) { s.Persistence.ProgressStorage = kopf.StatusProgress{} }})
	const objects = 10
	for i := range objects {
		// While these are looked at, those before could loop.
		w.create(example(fmt.Sprintf("x%d", i)))
		c.wait(t, "create_1", i+1)
	}
	op.journal.wait(t, "status.kopf was thrown away by the schema", objects)
	if calls, requests := len(c.all()), len(op.journal.patches()); calls > 5*objects || requests > 5*objects {
		t.Errorf("%d calls and %d requests for %d objects", calls, requests, objects)
	}
	t.Logf("%d calls and %d requests for %d objects", len(c.all()), len(op.journal.patches()), objects)
}
