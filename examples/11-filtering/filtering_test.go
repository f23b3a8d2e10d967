package filtering

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestFilters_OnlyMatchingHandlersAreCalled(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")

	why := map[string]inspect.MismatchKind{
		"labels_mismatching": inspect.MismatchLabel, "filter_failing": inspect.MismatchWhen, "value_mismatching": inspect.MismatchValue,
	}
	for _, h := range operator.WaitHandled(example).Handlers {
		id, _, _ := strings.Cut(h.ID, "/")
		switch kind, kept := why[id]; {
		case kept && (h.Why == nil || h.Why.Kind != kind):
			t.Errorf("%s is not filtered out by its %s: %+v", h.ID, kind, h)
		case !kept && h.Kind == inspect.KindCreate && h.State != inspect.PhaseDone:
			t.Errorf("%s was not called: %+v", h.ID, h)
		}
	}
}

func TestFilters_FromAndToOfField(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)

	example.Set("spec.field", "changed")
	operator.WaitHandled(example)
	operator.WaitLog("the change of the field matches handler=updated/spec.field from=value to=changed")

	example.Set("spec.field", "value")
	for _, h := range operator.WaitHandled(example).Handlers {
		if h.Kind == "update" && (h.Why == nil || h.Why.Kind != "old") {
			t.Errorf("%s is not filtered out by the old value: %+v", h.ID, h)
		}
	}
}

func TestFilters_SurviveEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "changed")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
