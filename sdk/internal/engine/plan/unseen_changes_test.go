package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// wholeEssence is a custom storage that includes all annotations in the essence.
type wholeEssence struct{ state.DiffBaseStorage }

func (wholeEssence) Essence(tree map[string]any, _ []object.Path) map[string]any {
	return object.Without(tree, object.Path{"metadata", "resourceVersion"})
}

// elsewhere is a custom storage that keeps progress outside of the object.
type elsewhere struct{ state.ProgressStorage }

func (elsewhere) Clear(essence map[string]any) map[string]any { return essence }

func TestUnseenChange_FailuresAreNoDifference(t *testing.T) {
	f := newFate(t, born, &handlers.Handler{ID: "annotated", Family: handlers.Update, Field: object.Path{"metadata", "annotations"}})
	v := &View{settings: &core.Settings{}, failures: state.Failures{Prefix: "kopf.zalando.org"}, Progress: elsewhere{}, diffbase: wholeEssence{}}
	first := parse(t, `{"metadata":{"annotations":{"own":"x","kopf.zalando.org/failed-handler.fn":"{}"},"resourceVersion":"1"},"spec":{"f":1}}`)
	present := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"own": "x"}}, "spec": map[string]any{"f": 2}}
	p := Plan{Cause: &handlers.Cause{Resource: f.served.Resource, Reason: handlers.ReasonUpdate, Object: parse(t, born), Tree: present, New: present}}
	w := recorder{
		plan: &p, situation: &Situation{Served: f.served, Object: parse(t, born)}, view: v,
		record: &Record{Handled: &memory.HandledStates{Versions: []*object.Object{first}, Hashes: map[string]uint64{"annotated": 1}}},
	}
	_, essence, err := w.lastHandledState()
	if err != nil || w.record.Behind || memory.HashEssence(essence) != memory.HashEssence(present) {
		t.Errorf("recorded %v, %v; an update follows: %t", essence, err, w.record.Behind)
	}
}

// The object returns to the state that the first handler has seen, after another handler has seen a later state.
func TestUnseenChange_BackToTheFirstHandledState(t *testing.T) {
	field := handlerOfFamily("field", handlers.Update)
	field.Field = object.Path{"spec", "g"}
	for name, last := range map[string]any{"same state": 2, "same value of a field": 4} {
		t.Run(name, func(t *testing.T) {
			f := handled(t, handlerOfFamily("first", handlers.Update), field, handlerOfFamily("slow", handlers.Update))
			next := func(value, other any, byID map[string]handlers.Outcome) Record {
				f.edit(map[string]any{"spec": map[string]any{"f": value, "g": other}})
				f.now = f.now.Add(time.Hour)
				return f.record(f.plan(watch.Modified, nil), byID)
			}
			next(2, 2, map[string]handlers.Outcome{"first": success, "field": retry, "slow": retry})
			next(3, 3, map[string]handlers.Outcome{"field": success, "slow": retry})
			if r := next(last, 2, outcomes("slow", success)); !r.Finished || !r.Behind {
				t.Errorf("no update follows: %s", f.text)
			}
			f.now = f.now.Add(time.Hour)
			if one := f.plan(watch.Modified, nil); !slices.Contains(one.called, "field") {
				t.Errorf("%v are called for the end of the change: %s", one.called, f.text)
			}
		})
	}
}

// A restart forgets the state on which a step has acted, but not the state in which its handler has finished since.
func TestUnseenChange_AfterAStepOfAnEarlierProcess(t *testing.T) {
	f := handled(t, handlerOfFamily("fn", handlers.Update), handlerOfFamily("slow", handlers.Update))
	f.edit(spec(2))
	one, _ := f.turn(watch.Modified, "fn")
	f.recordStep(one, "fn")
	f.record(one, map[string]handlers.Outcome{"fn": retry, "slow": retry})
	f.handled = nil
	f.edit(spec(3))
	one, _ = f.turn(watch.Modified, "fn")
	steps, _ := one.view.UsedSteps("fn")
	steps.Outdated = true
	one.view.NoteSteps(steps)
	f.record(one, map[string]handlers.Outcome{"fn": success, "slow": retry})
	f.edit(spec(4))
	f.now = f.now.Add(time.Hour)
	if r := f.record(f.plan(watch.Modified, nil), outcomes("slow", success)); !r.Finished || !r.Behind {
		t.Errorf("no update follows for the handler that has not seen the newest state: %s", f.text)
	}
}
