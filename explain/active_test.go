package explain_test

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestActive_ReturnsMostUrgentHandler(t *testing.T) {
	handlers := []inspect.HandlerState{
		{ID: "done", State: inspect.PhaseDone}, {ID: "next", State: inspect.PhaseNext},
		{ID: "later", State: inspect.PhaseRetrying, Next: now.Add(time.Hour)}, {ID: "sooner", State: inspect.PhaseRetrying, Next: now.Add(time.Minute)},
		{ID: "running", State: inspect.PhaseRunning}, {ID: "failed", State: inspect.PhaseFailed},
	}
	for n, want := range map[int]string{2: "next", 3: "later", 4: "sooner", 5: "running", 6: "failed"} {
		o := inspect.Object{Handlers: handlers[:n]}
		if got := explain.Active(&o); got == nil || got.ID != want {
			t.Errorf("of the first %d it is %v, not %s", n, got, want)
		}
	}
	if got := explain.Active(&inspect.Object{State: inspect.StateRetrying, Handlers: handlers}); got.ID != "sooner" {
		t.Errorf("of one that is being retried it is %s", got.ID)
	}
	if got := explain.Active(&inspect.Object{Handlers: handlers[:1]}); got != nil {
		t.Errorf("at rest it is %v", got)
	}
}
