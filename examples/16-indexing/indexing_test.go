package indexing

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

const example = `
apiVersion: kopf.dev/v1
kind: KopfExample
metadata: {name: overview}
spec: {tier: web}
`

func TestReport_FindsPodsByLabel(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	pod := cluster.ApplyFile("pod.yaml")
	cluster.Run(func(r *kopf.Registry) { register(r, 20*time.Millisecond) })
	overview := cluster.Apply(example)
	overview.WaitValue("status.pods", []any{"web-1"})
	overview.WaitValue("status.readyPods", []any{"web-1"})

	pod.Delete()
	overview.WaitValue("status.pods", []any{})
	overview.WaitValue("status.readyPods", []any{})
}

func TestReport_SurvivesEveryCrash(t *testing.T) {
	plan := kopftest.CrashPlan{Register: func(r *kopf.Registry) { register(r, 5*time.Millisecond) }}
	kopftest.EveryCrash(t, plan, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		pod, overview := c.ApplyFile("pod.yaml"), c.Apply(example)
		overview.WaitValue("status.pods", []any{"web-1"})
		overview.Set("spec.tier", "db")
		overview.WaitValue("status.pods", []any{})
		pod.Delete()
		overview.WaitValue("status.readyPods", []any{})
		overview.Delete()
		overview.WaitGone()
	})
}
