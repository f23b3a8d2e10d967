package minimal

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestCreate_StoresResultInStatus(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")

	operator.WaitHandled(example)
	example.WaitValue("status.create.message", "hello world")
}

func TestCreate_WorksWithEmptySpec(t *testing.T) {
	c := kopftest.Change[kopf.Object](t, "spec: {}")
	if err := create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if c.Result == nil {
		t.Error("there is no result")
	}
}

func TestCreate_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		// The result need not be there: it is written in a second request, which is not repeated after a crash before it.
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
