package handlers

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestHandlers_CalledForTheirChanges(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)

	example := cluster.ApplyFile("obj.yaml")
	wantCalled(t, operator.WaitHandled(example), "create1", "create2", "field/spec.field")
	operator.WaitLog(`FIELD CHANGED handler=field/spec.field from="" to=value`)

	example.Set("spec.field", "other")
	wantCalled(t, operator.WaitHandled(example), "field/spec.field", "update")
	operator.WaitLog("FIELD CHANGED handler=field/spec.field from=value to=other")

	example.Set("spec.items", []string{"item1"})
	wantCalled(t, operator.WaitHandled(example), "update")

	operator.Restart()
	wantCalled(t, operator.WaitHandled(example), "resume1", "resume2")

	example.Delete()
	example.WaitGone()
	operator.WaitLog("DELETED 1st")
	operator.WaitLog("DELETED 2nd")
}

func wantCalled(t *testing.T, state inspect.Object, want ...string) {
	t.Helper()
	var called []string
	for _, h := range state.Handlers {
		if len(h.Attempts) > 0 {
			called = append(called, h.ID)
		}
	}
	slices.Sort(called)
	if !slices.Equal(called, want) {
		t.Errorf("called handlers: %v, want %v", called, want)
	}
}

func TestHandlers_SurviveEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
