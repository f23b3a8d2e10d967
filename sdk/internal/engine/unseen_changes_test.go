package engine

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// wholeEssence is a user's storage that regards all annotations as a part of the essence.
type wholeEssence struct{ state.DiffBaseStorage }

func (wholeEssence) Essence(tree map[string]any, _ []object.Path) map[string]any {
	return object.Without(tree, object.Path{"metadata", "resourceVersion"})
}

// elsewhere is a user's storage that keeps progress outside of the object.
type elsewhere struct{ state.ProgressStorage }

func (elsewhere) Clear(essence map[string]any) map[string]any { return essence }

func TestUnseenChange_FailuresAreNoDifference(t *testing.T) {
	f := newFate(t, born, &handlers.Handler{ID: "annotated", Family: handlers.Update, Field: object.Path{"metadata", "annotations"}})
	v := &view{settings: &Settings{}, failures: state.Failures{Prefix: "kopf.zalando.org"}, progress: elsewhere{}, diffbase: wholeEssence{}}
	first := parse(t, `{"metadata":{"annotations":{"own":"x","kopf.zalando.org/failed-handler.fn":"{}"},"resourceVersion":"1"},"spec":{"f":1}}`)
	present := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"own": "x"}}, "spec": map[string]any{"f": 2}}
	p := plan{cause: &handlers.Cause{Resource: f.served.resource, Reason: handlers.ReasonUpdate, Object: parse(t, born), Tree: present, New: present}}
	w := recorder{
		plan: &p, situation: &situation{served: f.served, object: parse(t, born)}, view: v,
		record: &record{handled: &handledStates{first: first, hashes: map[string]uint64{"annotated": 1}}},
	}
	_, essence, err := w.lastHandledState()
	if err != nil || w.record.behind || hashEssence(essence) != hashEssence(present) {
		t.Errorf("recorded %v, %v; an update follows: %t", essence, err, w.record.behind)
	}
}
