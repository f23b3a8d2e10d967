package timers

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestTimers_TickUntilObjectIsDeleted(t *testing.T) {
	second = 10 * time.Millisecond
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitLog("Ping handler=ping field=value")
	operator.WaitLog("Slow ping handler=slowPing field=value")
	example.WaitFor("five ticks are counted", func(o *kopf.Object) bool { return kopf.GetOr(o, "status.count.ticks", 0) >= 5 })
	operator.WaitLog("Timer 'count' failed temporarily: simulated failure")

	example.Set("spec.field", "other")
	operator.WaitLog("Ping handler=ping field=other")
	example.Delete()
	example.WaitGone()
	operator.WaitLog("Timer 'ping' has exited on request")
	operator.WaitLog("Timer 'slowPing' has exited on request")
}

func TestTimers_WaitForIdleObject(t *testing.T) {
	second = time.Hour // so that the object is never idle
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)
	if strings.Contains(operator.Log(), "ing handler=") {
		t.Errorf("ping was called before the object was idle:\n%s", operator.Log())
	}
}

func TestCount_FailedTickIsNotCounted(t *testing.T) {
	tick := kopftest.Timer[kopf.Object](t, "{}")
	kopf.MemoOf[ticks](tick.Memo).n = 2
	if err := count(t.Context(), tick); err == nil || kopf.MemoOf[ticks](tick.Memo).n != 2 {
		t.Errorf("the first attempt of the third tick did not fail: %v", err)
	}
	tick.Retry = 1
	if err := count(t.Context(), tick); err != nil || kopf.MemoOf[ticks](tick.Memo).n != 3 {
		t.Errorf("the second attempt of the third tick failed: %v", err)
	}
}

func TestTimers_SurviveEveryCrash(t *testing.T) {
	second = time.Millisecond
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		example.WaitFor("two ticks are counted", func(o *kopf.Object) bool { return kopf.GetOr(o, "status.count.ticks", 0) >= 2 })
		example.Set("spec.field", "other")
		example.Delete()
		example.WaitGone()
	})
}
