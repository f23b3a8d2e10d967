package e2e

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestChildren_KilledAtAnyWriteIsContinued(t *testing.T) {
	t.Setenv("KOPFTEST_CRASH_BUDGET", "1m") // enough for each point, and not only for each class
	p := &pruner{}
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: p.register}, func(c *kopftest.Crashing) {
		p.own = ownResource(c.Cluster)
		c.Start()
		parent := c.Create(p.own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "created"}}))
		a, b := c.Object("configmaps", "x-a"), c.Object("configmaps", "x-b")
		a.WaitValue("data.field", "created")
		b.WaitValue("data.field", "created")

		parent.Set("spec.field", "changed")
		a.WaitValue("data.field", "changed")
		b.WaitValue("data.field", "changed")

		parent.Set("spec.field", "pruned")
		a.WaitValue("data.field", "pruned")
		b.WaitGone()

		first := a.Get().Get("metadata.uid")
		a.Delete()
		a.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != first })

		parent.Set("spec.field", "again")
		a.WaitValue("data.field", "again")
		b.WaitValue("data.field", "again")

		second := c.Create(p.own.of(tree{"metadata": tree{"name": "y"}, "spec": tree{"field": "created"}}))
		c.Object("configmaps", "y-b").WaitValue("data.field", "created")
		second.Delete()
		c.Object("configmaps", "y-a").WaitGone()
		c.Object("configmaps", "y-b").WaitGone()
	})
}
