package handlers

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// Tests with a cluster: the whole operator with real objects.

func TestMain(m *testing.M) { kopftest.Main(m) }

// start runs the operator in a new namespace.
func start(t *testing.T) (*kopftest.Cluster, *kopftest.Operator) {
	t.Parallel() // each test has its own namespace
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	return cluster, cluster.Run(Register)
}

func TestOperator_AppliedExampleBecomesReady(t *testing.T) {
	cluster, operator := start(t)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)
	operator.WaitLog("the example is created")
	example.WaitValue("status.phase", "Ready")
	ready := kopftest.WaitFor(example, "the phase is Ready", func(e *Example) bool { return e.Status.Phase == "Ready" })
	if len(ready.Spec.Items) != 2 {
		t.Errorf("the items are %v", ready.Spec.Items)
	}
}

func TestOperator_CountsItemsOfLabelledExamples(t *testing.T) {
	cluster, operator := start(t)
	example := cluster.ApplyFile("obj.yaml")
	for _, h := range operator.WaitHandled(example).Handlers {
		if h.ID == "count/spec.items" && (h.Why == nil || h.Why.Path != "counted") {
			t.Errorf("the handler was not filtered out by the label: %+v", h)
		}
	}

	example.Label("counted", "yes")
	example.Set("spec.items", []string{"one"})
	operator.WaitHandled(example)
	var result struct{ Before, Now int }
	example.WaitResult("count/spec.items", &result)
	if result.Before != 2 || result.Now != 1 {
		t.Errorf("%+v", result)
	}
}

func TestOperator_EmptyExampleFails(t *testing.T) {
	cluster, operator := start(t)
	example := cluster.Apply(`
apiVersion: kopf.dev/v1
kind: KopfExample
metadata: {name: empty}
`)
	if h := operator.WaitFailed(example).Handlers[0]; h.State != inspect.PhaseFailed || h.Error.Message != "spec.field must be set" {
		t.Errorf("%+v", h)
	}
}

func TestOperator_RemovedLabelStopsReminders(t *testing.T) {
	cluster, operator := start(t)
	example := cluster.ApplyFile("obj.yaml")
	example.Label("reminded", "yes")
	operator.WaitLog("Daemon 'remind' is invoked")
	example.Unlabel("reminded")
	operator.WaitLog("Daemon 'remind' has exited on request")
	example.Delete()
	example.WaitGone()
}

func TestOperator_HandlesExampleCreatedDuringDowntime(t *testing.T) {
	cluster, operator := start(t)
	operator.Kill() // like a crash; Stop is graceful
	example := cluster.ApplyFile("obj.yaml")
	operator.Start()
	operator.WaitHandled(example)
	example.WaitValue("status.phase", "Ready")
}

// An operator that is killed at any of its writes must be continued by the next one.
func TestOperator_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Patch("{metadata: {labels: {counted: 'yes', reminded: 'yes'}}, spec: {items: [one]}}")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
