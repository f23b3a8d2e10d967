package plan

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// recordStep records a step of a handler in its handling.
func (f *fate) recordStep(one *step, id string) {
	f.t.Helper()
	progress, _ := one.plan.Progress.Handler(id)
	steps := one.plan.UseSteps(one.view, id, progress.Record.Started).WithStep("bucket", state.Step{
		At: object.FormatTime(f.now), Result: json.RawMessage(`"b-1"`),
	})
	p, err := one.plan.StepPatch(one.view, steps, one.own)
	if err != nil {
		f.t.Fatal(err)
	}
	one.view.NoteSteps(steps)
	f.edit(p.Tree())
	one.view.Recorded(p, parse(f.t, f.text))
}

// counted returns the turns of the steps that count, by the handlers.
func (f *fate) counted() map[string]string {
	f.t.Helper()
	f.now = f.now.Add(time.Hour)
	one := f.plan(watch.Modified, nil)
	turns := map[string]string{}
	for _, steps := range one.plan.CountedSteps(one.view, f.served.Changing) {
		if len(steps.Steps) != 1 {
			f.t.Errorf("steps: %v", steps)
		}
		turns[steps.Handler] = steps.Turn
	}
	return turns
}

func TestCountedSteps_OfTheUnfinishedHandling(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	if got := f.counted(); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.recordStep(one, "fn")
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("after the record: %v", got)
	}
	f.record(one, outcomes("fn", retry))
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("in the next attempt: %v", got)
	}
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/fn": nil}}})
	if got := f.counted(); len(got) != 0 {
		t.Errorf("after the end by another operator: %v", got)
	}
}

// The step was called by an older process, whose patch arrives after another process has begun the handling anew.
func TestCountedSteps_OfAnOlderProcess(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", retry))
	older, _ := f.turn(watch.Modified, "fn")
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/fn": nil}}})
	one, _ = f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", retry))
	f.recordStep(older, "fn")
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("counted: %v, the object: %s", got, f.text)
	}
}

// A request calls a failed handler again during the retries of another handler: the progress gets a new start.
func TestCountedSteps_OfARestartedHandler(t *testing.T) {
	f := handled(t, handlerOfFamily("fn", handlers.Update), handlerOfFamily("slow", handlers.Update))
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.recordStep(one, "fn")
	f.record(one, map[string]handlers.Outcome{"fn": failure, "slow": retry})
	f.now = f.now.Add(time.Second)
	one = f.plan(watch.Modified, memory.NewRetryRequest("fn"))
	if turns := one.plan.CountedSteps(one.view, f.served.Changing); len(turns) != 1 {
		t.Errorf("before the call: %v", turns)
	}
	progress, _ := one.plan.Progress.Handler("fn")
	if steps := one.plan.UseSteps(one.view, "fn", progress.Record.Started); steps.Epoch != 0 || len(steps.Steps) != 1 {
		t.Errorf("the step is called again: %+v", steps)
	}
	f.record(one, outcomes("fn", retry))
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("in the next attempt: %v", got)
	}
}

// The process ends after a step of a failed handler that is called again.
func TestCountedSteps_OfAnInterruptedRetryOfAFailure(t *testing.T) {
	f := handled(t, handlerOfFamily("fn", handlers.Update))
	f.edit(spec(2))
	f.record(f.plan(watch.Modified, nil), outcomes("fn", failure))
	f.now = f.now.Add(time.Hour)
	f.recordStep(f.plan(watch.Modified, memory.NewRetryRequest("fn")), "fn")
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("in the next process: %v", got)
	}
	if one := f.plan(watch.Modified, nil); !slices.Equal(one.called, []string{"fn"}) {
		t.Errorf("the next process calls %v: %s", one.called, f.text)
	}
	for range 2 {
		f.record(f.plan(watch.Modified, memory.NewRetryRequest("fn")), outcomes("fn", failure)) // without steps
		if got := f.counted(); got["fn"] != "update 0" {
			t.Errorf("after another failure: %v, the object: %s", got, f.text)
		}
	}
}

func TestCountedSteps_OfFailedHandlersUntilTheNextChange(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.recordStep(one, "fn")
	f.record(one, outcomes("fn", failure))
	if got := f.counted(); got["fn"] != "update 0" {
		t.Errorf("after the failure: %v", got)
	}
	f.edit(spec(3))
	if got := f.counted(); len(got) != 0 {
		t.Errorf("after the next change: %v", got)
	}
}
