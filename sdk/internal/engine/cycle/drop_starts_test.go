package cycle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
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

func TestDropStarts_AnotherOperatorMayHaveCalledTheStepBeforeAListing(t *testing.T) {
	for name, listed := range map[string]bool{"retry": false, "listing": true} {
		t.Run(name, func(t *testing.T) {
			p := &Processor{deps: &core.Deps{State: &core.RunState{}, Now: time.Now}, memories: &memory.Memories{}, resources: podsOnly{}, conditions: core.NoConditions}
			obj := object.Stub("v1", "Pod", "ns", "x", "uid", "5")
			key := queue.KeyOf("pods", obj)
			m := p.memories.Recall(key, "ns", false, nil)
			keepSteps(m)
			m.Throttle.Failed(time.Now(), slices.Values([]time.Duration{time.Hour}))
			p.Process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: obj}, Listed: listed})
			expectSteps(t, m, !listed)
		})
	}
}

// The answers to the start of the step are lost. The next attempt calls the step, unless the operator was paused since: the pause can begin
// and end before the attempt, or during it, and no listing has followed yet.
func TestDropStarts_AnotherOperatorMayHaveCalledTheStepDuringPause(t *testing.T) {
	for name, test := range map[string]struct{ before, within, called bool }{
		"no pause":                {called: true},
		"pause between attempts":  {before: true},
		"pause within an attempt": {within: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecordServer(t)
			c := newStepCycle(t, t.Context(), s)
			pauses := peers.NewPauses(c.deps, core.NewWakeup())
			pause := func() {
				pauses.Add(peers.PauseKey{Kind: inspect.PausePeering}, inspect.Pause{Reason: "another operator has precedence"})
				pauses.Remove(peers.PauseKey{Kind: inspect.PausePeering})
			}
			calls := 0
			attempt := func(meanwhile func()) (failed error) {
				h := &handlers.Handler{ID: "create", Family: handlers.Create, Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
					meanwhile()
					_, failed = call.Extra.(handlers.Keyed).Step(ctx, call.Started, handlers.StepCall{Name: "mail", Once: true, Do: func(context.Context) ([]byte, error) {
						calls++
						return []byte("1"), nil
					}})
					return nil, failed
				}}
				if _, err := c.invokeChangeHandler(t.Context(), h, c.plan.Progress); err != nil {
					t.Fatal(err)
				}
				return failed
			}
			c.plan.Progress = state.Progress{}.WithPurpose("create").WithHandlers([]string{"create"}, time.Now().Truncate(time.Microsecond))
			s.before = func(map[string]any) { s.lost = true }
			if err := attempt(func() {}); err == nil || calls != 0 || len(s.patches) != 1 {
				t.Fatalf("the first attempt: %v, %d calls, patches: %v", err, calls, s.patches)
			}
			s.before, s.lost = nil, false
			c.object = s.parse()
			if err := c.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if test.before {
				pause()
			}
			err := attempt(func() {
				if test.within {
					pause()
				}
			})
			if unsure := errors.Is(err, handlers.ErrStepUnsure); unsure == test.called || (calls == 1) != test.called {
				t.Errorf("the next attempt: %v, %d calls", err, calls)
			}
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
