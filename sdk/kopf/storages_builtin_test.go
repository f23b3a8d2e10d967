package kopf_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

// ownEssence is a user's storage that overrides a method of a built-in one.
type ownEssence struct{ kopf.DiffBaseStorage }

func (ownEssence) Essence(_ *kopf.Object, essence map[string]any) map[string]any {
	delete(essence, "spec")
	return essence
}

// ownFetch is a user's storage of progress that overrides a method of a built-in one.
type ownFetch struct{ kopf.ProgressStorage }

func (ownFetch) Fetch(context.Context, *kopf.Object, string) (*kopf.ProgressRecord, error) {
	return &kopf.ProgressRecord{Retries: 7}, nil
}

func TestBuiltinStorages_UsedByTheEngineWithoutAdapter(t *testing.T) {
	smart := storage.Smart(storage.AnnotationNames{}, storage.StatusFields{})
	for _, builtin := range []kopf.ProgressStorage{nil, smart} {
		if diff := cmp.Diff(state.ProgressStorage(state.NewSmartProgress()), kopf.EngineProgress(builtin)); diff != "" {
			t.Errorf("%T (-want +got)\n%s", builtin, diff)
		}
	}
	for _, builtin := range []kopf.DiffBaseStorage{nil, storage.AnnotationDiffBase(storage.DiffBaseAnnotation{})} {
		if diff := cmp.Diff(state.DiffBaseStorage(state.NewAnnotationsDiffBase()), kopf.EngineDiffBase(builtin)); diff != "" {
			t.Errorf("%T (-want +got)\n%s", builtin, diff)
		}
	}
	several := kopf.EngineProgress(storage.Multi(storage.Annotations(storage.AnnotationNames{}), ownFetch{smart})).(state.MultiProgress)
	if _, builtin := several[0].(*state.AnnotationsProgress); !builtin {
		t.Errorf("got %T", several[0])
	}
	bases := kopf.EngineDiffBase(storage.MultiDiffBase(storage.StatusDiffBase(storage.DiffBaseField{}), nil)).(state.MultiDiffBase)
	if diff := cmp.Diff(state.DiffBaseStorage(state.NewAnnotationsDiffBase()), bases[1]); diff != "" {
		t.Errorf("nil (-want +got)\n%s", diff)
	}
}

func TestBuiltinStorages_EmbeddedOnesKeepOverrides(t *testing.T) {
	own := ownEssence{storage.AnnotationDiffBase(storage.DiffBaseAnnotation{})}
	tree := map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": 1.0}}
	if got := kopf.EngineDiffBase(own).Essence(tree, nil); got["spec"] != nil {
		t.Errorf("the override of Essence was not called: %v", got)
	}
	progress := ownFetch{storage.Annotations(storage.AnnotationNames{})}
	if _, builtin := any(progress).(bridge.Progress); builtin {
		t.Error("the override is taken for a built-in storage")
	}
	if got, err := kopf.EngineProgress(progress).Fetch(tree, "create"); err != nil || got == nil || got.Retries != 7 {
		t.Errorf("the override of Fetch was not called: %v, %v", got, err)
	}
}
