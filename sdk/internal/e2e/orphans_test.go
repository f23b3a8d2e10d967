package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestProgressOfARenamedHandlerIsToldAndContinuedByItsID(t *testing.T) {
	w := newWorld(t)
	var c callList
	failing := func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
		c.add("attempt")
		return kopf.Temporaryf(time.Hour, "later")
	}
	o := w.run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	w.create(example("a"))
	o.journal.wait(t, "failed temporarily", 1)
	o.stop()

	o = w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("renamed"), kopf.ID("create"))
		kopf.OnCreate(r, kexes, failing, kopf.ID("other"))
	})
	o.journal.wait(t, `There is progress of the handler "create_fn" on the object, and no such handler. If it was renamed, it goes on from there with kopf.ID("create_fn").`, 1)
	o.journal.wait(t, "failed temporarily", 1)
	o.stop()
	if n := o.journal.count("There is progress of the handler"); n != 1 {
		t.Errorf("told %d times", n)
	}

	o = w.run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	o.journal.wait(t, "for the delayed handlers", 1)
	o.stop()
	if got := c.list(); !slices.Equal(got, []string{"attempt", "renamed", "attempt"}) {
		t.Errorf("got %q", got)
	}
}
