package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

const stepsOfFn = "kopf.zalando.org/handler-steps.fn"

// handled returns an object that was handled once.
func handled(t *testing.T, hs ...*handlers.Handler) *fate {
	f := newFate(t, born, hs...)
	f.handle(watch.Added)
	return f
}

// turn begins a cycle in which a handler uses a key.
func (f *fate) turn(event, id string) (*step, string) {
	f.t.Helper()
	f.now = f.now.Add(time.Hour)
	one := f.plan(event, nil)
	progress, ok := one.plan.Progress.Handler(id)
	if !ok {
		f.t.Fatalf("%s is not called: %s", id, f.text)
	}
	return one, one.plan.Turn(one.view, id, progress.Record.Started)
}

func (f *fate) annotation(name string) any {
	f.t.Helper()
	tree, err := parse(f.t, f.text).Tree()
	if err != nil {
		f.t.Fatal(err)
	}
	return object.Annotations(tree)[name]
}

func spec(field any) map[string]any { return map[string]any{"spec": map[string]any{"f": field}} }

func outcomes(id string, out handlers.Outcome) map[string]handlers.Outcome {
	return map[string]handlers.Outcome{id: out}
}

func TestTurn_SameInEachAttemptAndOtherInTheNextChange(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	for range 3 {
		one, turn := f.turn(watch.Modified, "fn")
		if turn != "update 0" {
			t.Errorf("turn %q", turn)
		}
		f.record(one, outcomes("fn", retry))
	}
	f.edit(spec(3)) // while the handler is retried: the handling continues
	one, turn := f.turn(watch.Modified, "fn")
	if turn != "update 0" {
		t.Errorf("turn %q", turn)
	}
	f.record(one, outcomes("fn", success))
	if got := f.annotation(stepsOfFn); got != `{"handler":"fn","epoch":1}` {
		t.Errorf("recorded: %v", got)
	}
	f.edit(spec(1))
	if _, turn := f.turn(watch.Modified, "fn"); turn != "update 1" {
		t.Errorf("turn %q", turn)
	}
}

func TestTurn_CountsWithoutAnotherPatchIfTheFirstAttemptSucceeds(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	for n, want := range []string{"update 0", "update 1", "update 2"} {
		f.edit(spec(n + 2))
		one, turn := f.turn(watch.Modified, "fn")
		if turn != want {
			t.Errorf("turn %q, want %q", turn, want)
		}
		if r := f.record(one, outcomes("fn", success)); !r.Finished {
			t.Error("the handling continues")
		}
	}
}

func TestTurn_CreationAndDeletionRecordNothing(t *testing.T) {
	f := newFate(t, born, &handlers.Handler{ID: "fn", Family: handlers.Create}, &handlers.Handler{ID: "end", Family: handlers.Delete})
	f.handle(watch.Added) // adds the finalizer
	one, turn := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", retry))
	if turn != "create" || strings.Contains(f.text, "handler-steps") {
		t.Errorf("turn %q: %s", turn, f.text)
	}
	f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}})
	one, turn = f.turn(watch.Modified, "end")
	f.record(one, outcomes("end", retry))
	if turn != "delete" || strings.Contains(f.text, "handler-steps") {
		t.Errorf("turn %q: %s", turn, f.text)
	}
}

// TestTurn_AnotherOperatorEndsTheHandling purges the progress record, as Kopf for Python does, which keeps the record of the steps.
func TestTurn_AnotherOperatorEndsTheHandling(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", retry))
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/fn": nil}}})
	for range 2 {
		one, turn := f.turn(watch.Modified, "fn")
		if turn != "update 1" {
			t.Errorf("turn %q", turn)
		}
		f.record(one, outcomes("fn", retry))
	}
}

// TestTurn_OtherHandlerOfTheCauseIsRetried ends the handling in a process in which the handler with keys is not called.
func TestTurn_OtherHandlerOfTheCauseIsRetried(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update}, &handlers.Handler{ID: "slow", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, map[string]handlers.Outcome{"fn": success, "slow": retry})
	f.now = f.now.Add(time.Hour)
	f.record(f.plan(watch.Modified, nil), outcomes("slow", success))
	f.edit(spec(3))
	if _, turn := f.turn(watch.Modified, "fn"); turn != "update 1" {
		t.Errorf("turn %q", turn)
	}
}

func TestTurn_RetriedFailureHasTheSameTurn(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", failure))
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"kopf.zalando.org/failed-handler.fn": strings.Replace(f.annotation("kopf.zalando.org/failed-handler.fn").(string), `"attempts"`, `"again":true,"attempts"`, 1),
	}}})
	for _, out := range []handlers.Outcome{retry, success} {
		one, turn := f.turn(watch.Modified, "fn")
		if turn != "update 0" {
			t.Errorf("turn %q", turn)
		}
		f.record(one, outcomes("fn", out))
	}
	f.edit(spec(3))
	if _, turn := f.turn(watch.Modified, "fn"); turn != "update 1" {
		t.Errorf("turn %q", turn)
	}
}

func TestTurn_ChangeAfterAFailureHasAnotherTurn(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", failure))
	f.edit(spec(3))
	if _, turn := f.turn(watch.Modified, "fn"); turn != "update 1" {
		t.Errorf("turn %q", turn)
	}
}

func TestTurn_RevertedChangeIsAHandling(t *testing.T) {
	f := handled(t, &handlers.Handler{ID: "fn", Family: handlers.Update})
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.record(one, outcomes("fn", retry))
	f.edit(spec(1))
	f.record(f.plan(watch.Modified, nil), nil)
	if got := f.annotation(stepsOfFn); got != `{"handler":"fn","epoch":1}` {
		t.Errorf("recorded: %v", got)
	}
}

func TestTurn_UpdateSupersedesResuming(t *testing.T) {
	f := newFate(t, born, &handlers.Handler{ID: "fn", Family: handlers.Resume, Fn: 1}, &handlers.Handler{ID: "fn", Family: handlers.Update, Fn: 1})
	f.handle(watch.Added)
	f.life.Listed, f.life.Resumed = true, false
	one, turn := f.turn(watch.Listed, "fn")
	f.record(one, outcomes("fn", retry))
	if turn != "resume 0" {
		t.Errorf("turn %q", turn)
	}
	f.edit(spec(2))
	for range 2 {
		one, turn = f.turn(watch.Modified, "fn")
		if turn != "update 1" {
			t.Errorf("turn %q", turn)
		}
		f.record(one, outcomes("fn", retry))
	}
}
