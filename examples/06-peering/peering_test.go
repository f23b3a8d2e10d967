package peering

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestPeering_SecondOperatorTakesOver(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml", "peering.yaml")
	first := cluster.Launch(Register)
	first.WaitLog("Pausing until KopfPeering example")
	cluster.ApplyFile("objects.yaml")
	first.WaitReady()

	// An operator that starts with the same priority pauses all, and logs it.
	second := cluster.Launch(Register, func(o *kopf.Operator) { o.Identity = "second" })
	first.WaitLog("Possibly conflicting operators with the same priority: second (priority 100)")
	example := cluster.ApplyFile("obj.yaml")
	second.WaitInspect("it is paused", func(s *inspect.Snapshot) bool { return s.Operator.State == inspect.OperatorPaused })
	if first.Inspect().Operator.State != inspect.OperatorPaused || example.Get().Get("status.create") != nil {
		t.Error("both are paused, and nobody handles the object")
	}
	first.Stop()
	example.WaitValue("status.create", "created")
}

func TestPeering_SurvivesEveryCrash(t *testing.T) {
	plan := kopftest.CrashPlan{
		Register:  Register,
		Configure: func(o *kopf.Operator) { o.Identity = "the only one" }, // otherwise, the next one waits until the record of the killed one expires
	}
	kopftest.EveryCrash(t, plan, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml", "peering.yaml", "objects.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
