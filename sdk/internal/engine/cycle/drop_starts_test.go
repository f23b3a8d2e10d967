package cycle

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

var (
	madeStep    = outbox.StepID{Handler: "create", Name: "make"}
	startedStep = outbox.StepID{Handler: "create", Name: "mail"}
)

// keepSteps adds a step with a result, and a step whose start was recorded without a call.
func keepSteps(m *memory.Memory) {
	m.Outbox.KeepStep(madeStep, state.Step{At: "2026-01-02T03:04:05", Result: []byte("1")})
	m.Outbox.KeepStep(startedStep, state.Step{At: "2026-01-02T03:04:05"})
}

func expectSteps(t *testing.T, m *memory.Memory, startKept bool) {
	t.Helper()
	if _, kept := m.Outbox.Steps[madeStep]; !kept {
		t.Error("the result of a step is lost, so its effect would be repeated")
	}
	if _, kept := m.Outbox.Steps[startedStep]; kept != startKept {
		t.Errorf("the start without a call is kept: %t, want %t", kept, startKept)
	}
}

func TestDropStarts_AnotherOperatorMayHaveCalledTheStepDuringPause(t *testing.T) {
	for name, test := range map[string]struct{ listed, paused, kept bool }{
		"retry":                     {kept: true},
		"listing after a pause":     {listed: true},
		"retry before that listing": {paused: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Processor{deps: &core.Deps{State: &core.RunState{}, Now: time.Now}, memories: &memory.Memories{}, resources: podsOnly{}, conditions: core.NoConditions}
			obj := object.Stub("v1", "Pod", "ns", "x", "uid", "5")
			key := queue.KeyOf("pods", obj)
			m := p.memories.Recall(key, "ns", false, nil)
			keepSteps(m)
			m.Throttle.Failed(time.Now(), slices.Values([]time.Duration{time.Hour}))
			p.deps.State.WasPaused.Store(test.paused)
			p.Process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: obj}, Listed: test.listed})
			expectSteps(t, m, test.kept)
		})
	}
}

func TestDropStarts_AnotherOperatorMayHaveCalledTheStepDuringPauseOfTheObject(t *testing.T) {
	for _, paused := range []bool{false, true} {
		c := newPatchCycle(t, &patchServer{t: t, uid: "uid"})
		keepSteps(c.memory)
		c.memory.Flags.Paused.Store(paused)
		if c.notePause() {
			t.Error("the object is paused")
		}
		expectSteps(t, c.memory, !paused)
	}
}
