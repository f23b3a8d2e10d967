package daemons

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

// shortenTimes shortens all times, and sets for how long the polite daemon pings.
func shortenTimes(t *testing.T, pings time.Duration) {
	delay, period, total, kill := retryDelay, pingPeriod, pingTime, grace
	t.Cleanup(func() { retryDelay, pingPeriod, pingTime, grace = delay, period, total, kill })
	retryDelay, pingPeriod, pingTime, grace = time.Millisecond, 5*time.Millisecond, pings, 50*time.Millisecond
}

func TestDaemons_RunUntilObjectIsDeleted(t *testing.T) {
	shortenTimes(t, time.Hour)
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	example.WaitValue("status.message", "Failed 3 times.")
	operator.WaitLog("=> Tick handler=cancellable field=value")

	example.Set("spec.field", "other")
	operator.WaitLog("=> Ping handler=polite field=other retry=3")
	operator.WaitLog("=> Tick handler=cancellable field=other")

	example.Unlabel("somelabel") // no daemon has a filter for it
	example.Annotate("someannotation", "other")
	operator.WaitLog(`=> Bye handler=cancellable because="stopped: filters mismatch"`)
	example.Annotate("someannotation", "somevalue")
	example.Delete()
	example.WaitGone()
	operator.WaitLog("Daemon 'polite' has exited on request")
}

func TestDaemons_FinishedDaemonIsNotRestarted(t *testing.T) {
	shortenTimes(t, 0)
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	example.WaitValue("status.message", "Accompanying is finished.")
	operator.WaitLog("Daemon 'polite' has exited on its own")
	for _, h := range operator.WaitHandled(example).Handlers {
		if h.ID == "polite" && (h.State != inspect.PhaseDone || len(h.Attempts) != 4) {
			t.Errorf("%s after %d attempts", h.State, len(h.Attempts))
		}
	}
	// Only a restarted operator starts it again.
	example.WaitFor("the other daemon keeps the finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	example.Remove("status.message")
	operator.Restart()
	example.WaitValue("status.message", "Accompanying is finished.")
}

func TestDaemons_SurviveEveryCrash(t *testing.T) {
	shortenTimes(t, 0)
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		example.WaitValue("status.message", "Accompanying is finished.")
		example.Annotate("someannotation", "other") // stops the other daemon
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
