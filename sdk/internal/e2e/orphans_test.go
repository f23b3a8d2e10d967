package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestProgressOfARenamedHandlerIsToldAndContinuedByItsID(t *testing.T) {
	cluster := newCluster(t)
	var c callList
	failing := func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
		c.add("attempt")
		return kopf.Temporaryf(time.Hour, "later")
	}
	o := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	cluster.Create(example("a"))
	o.WaitLog("failed temporarily")
	o.Stop()

	o = cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("renamed"), kopf.ID("create"))
		kopf.OnCreate(r, kexes, failing, kopf.ID("other"))
	})
	o.WaitLog(`There is progress of the handler "create_fn" on the object, and no such handler. If it was renamed, it goes on from there with kopf.ID("create_fn").`)
	o.WaitLog("failed temporarily")
	o.Stop()
	if n := o.CountLog("There is progress of the handler"); n != 1 {
		t.Errorf("told %d times", n)
	}

	o = cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	o.WaitLog("for the delayed handlers")
	o.Stop()
	if got := c.list(); !slices.Equal(got, []string{"attempt", "renamed", "attempt"}) {
		t.Errorf("got %q", got)
	}
}
