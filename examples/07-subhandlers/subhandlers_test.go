package subhandlers

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestCreate_HandlesEachItem(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")

	done := map[string]bool{}
	for _, h := range operator.WaitHandled(example).Handlers {
		done[h.ID] = h.State == inspect.PhaseDone
	}
	for _, id := range []string{"create", "create/item1", "create/item2"} {
		if !done[id] {
			t.Errorf("%s is not done", id)
		}
	}
	var result string
	if example.WaitResult("create/item2", &result); result != "made of item2" {
		t.Errorf("the result is %q", result)
	}
}

func TestCreate_SubHandlersOfTestRequest(t *testing.T) {
	c := kopftest.Change[Example](t, "spec: {items: [one, two]}")
	if err := create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := c.Execute(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCreate_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.items", []string{"item3"})
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
