package kopf

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// ownEssence is a user's storage that overrides a method of a built-in one.
type ownEssence struct{ AnnotationsDiffBase }

func (ownEssence) Essence(_ *Object, essence map[string]any) map[string]any {
	delete(essence, "spec")
	return essence
}

// ownFetch is a user's storage of progress that overrides a method of a built-in one.
type ownFetch struct{ SmartProgress }

func (ownFetch) Fetch(context.Context, *Object, string) (*ProgressRecord, error) {
	return &ProgressRecord{Retries: 7}, nil
}

func TestBuiltinStorages_UsedByTheEngineWithoutAdapter(t *testing.T) {
	for _, storage := range []ProgressStorage{nil, SmartProgress{}, &SmartProgress{}} {
		if diff := cmp.Diff(state.ProgressStorage(state.NewSmartProgress()), engineProgress(storage)); diff != "" {
			t.Errorf("%T (-want +got)\n%s", storage, diff)
		}
	}
	for _, storage := range []DiffBaseStorage{nil, AnnotationsDiffBase{}, &AnnotationsDiffBase{}} {
		if diff := cmp.Diff(state.DiffBaseStorage(state.NewAnnotationsDiffBase()), engineDiffBase(storage)); diff != "" {
			t.Errorf("%T (-want +got)\n%s", storage, diff)
		}
	}
	several := engineProgress(MultiProgress{AnnotationsProgress{}, ownFetch{}}).(state.MultiProgress)
	if _, builtin := several[0].(*state.AnnotationsProgress); !builtin {
		t.Errorf("got %T", several[0])
	}
}

func TestBuiltinStorages_EmbeddedOnesKeepOverrides(t *testing.T) {
	tree := map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": 1.0}}
	if got := engineDiffBase(ownEssence{}).Essence(tree, nil); got["spec"] != nil {
		t.Errorf("the override of Essence was not called: %v", got)
	}
	if got, err := engineProgress(ownFetch{}).Fetch(tree, "create"); err != nil || got == nil || got.Retries != 7 {
		t.Errorf("the override of Fetch was not called: %v, %v", got, err)
	}
}

func TestBuiltinStorages_MalformedFieldPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `kopf: storage field "status["`) {
			t.Errorf("got %s", got)
		}
	}()
	engineProgress(StatusProgress{Field: "status["})
}
