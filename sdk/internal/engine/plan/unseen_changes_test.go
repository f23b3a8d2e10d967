package plan

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
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
		record: &Record{Handled: &memory.HandledStates{First: first, Hashes: map[string]uint64{"annotated": 1}}},
	}
	_, essence, err := w.lastHandledState()
	if err != nil || w.record.Behind || memory.HashEssence(essence) != memory.HashEssence(present) {
		t.Errorf("recorded %v, %v; an update follows: %t", essence, err, w.record.Behind)
	}
}
