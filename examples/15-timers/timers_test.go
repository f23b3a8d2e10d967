package timers

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestTimersTickForAsLongAsTheObjectIsThere(t *testing.T) {
	second = 10 * time.Millisecond
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitLog("Ping handler=ping field=value")
	operator.WaitLog("Slow ping handler=slowPing field=value")
	example.WaitFor("there are five ticks", func(o *kopf.Object) bool { return kopf.GetOr(o, "status.count.ticks", 0) >= 5 })
	operator.WaitLog("Timer 'count' failed temporarily: simulated failure")

	example.Set("spec.field", "other")
	operator.WaitLog("Ping handler=ping field=other")
	example.Delete()
	example.WaitGone()
	operator.WaitLog("Timer 'ping' has exited on request")
	operator.WaitLog("Timer 'slowPing' has exited on request")
}

func TestTimersDoNotPingWhatIsChanging(t *testing.T) {
	second = time.Hour // so that the object is never at rest
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)
	if strings.Contains(operator.Log(), "ing handler=") {
		t.Errorf("it was pinged too early:\n%s", operator.Log())
	}
}

func TestATickThatFailsIsNotCounted(t *testing.T) {
	tick := kopftest.Timer[kopf.Object](t, "{}")
	kopf.MemoOf[ticks](tick.Memo).n = 2
	if err := count(t.Context(), tick); err == nil || kopf.MemoOf[ticks](tick.Memo).n != 2 {
		t.Errorf("the third tick has not failed at first: %v", err)
	}
	tick.Retry = 1
	if err := count(t.Context(), tick); err != nil || kopf.MemoOf[ticks](tick.Memo).n != 3 {
		t.Errorf("the third tick has failed again: %v", err)
	}
}
