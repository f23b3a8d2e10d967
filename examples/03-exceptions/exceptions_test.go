package exceptions

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestErrors_DecideNumberOfAttempts(t *testing.T) {
	pause = 20 * time.Millisecond
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	state := operator.WaitFailed(example)

	type end struct {
		state    inspect.HandlerPhase
		attempts int
	}
	want := map[string]end{
		"instantFailureWithOnlyAMessage":  {inspect.PhaseFailed, 1},
		"eventualSuccessWithAFewMessages": {inspect.PhaseDone, 4},
		"eventualFailure":                 {inspect.PhaseFailed, 3},
		"instantFailure":                  {inspect.PhaseFailed, 1},
		"failureByPanic":                  {inspect.PhaseFailed, 2},
	}
	for _, h := range state.Handlers {
		if got := (end{h.State, len(h.Attempts)}); got != want[h.ID] {
			t.Errorf("%s: %v; want %v", h.ID, got, want[h.ID])
		}
		delete(want, h.ID)
	}
	if len(want) > 0 {
		t.Errorf("there is no state of %v", want)
	}
	operator.WaitLog("Creation is processed: 1 succeeded; 4 failed.")
}

func TestErrors_AttemptsContinueAfterRestart(t *testing.T) {
	pause = time.Hour // so that no handler is retried
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitLog("Handler 'failureByPanic' failed")
	operator.WaitRetrying(example)
	operator.Kill()

	operator.Start()
	for _, h := range operator.WaitRetrying(example).Handlers {
		if h.ID == "eventualFailure" && h.Attempt != 1 {
			t.Errorf("the first attempt is lost: %+v", h)
		}
		if len(h.Attempts) > 0 {
			t.Errorf("it was called before its delay: %+v", h)
		}
	}
}

func TestErrors_SurviveEveryCrash(t *testing.T) {
	pause = time.Millisecond
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitFailed(example)
		example.Set("spec.field", "other")
		c.WaitFailed(example)
		example.Delete()
		example.WaitGone()
	})
}
