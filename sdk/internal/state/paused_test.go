package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type dict = map[string]any

func pausable(annotations dict) dict {
	return dict{"metadata": dict{"labels": dict{"a": "b"}, "annotations": annotations}, "spec": dict{"x": 1}}
}

func TestPaused_ByAnnotation(t *testing.T) {
	for value, want := range map[any]bool{"an incident": true, "": true, "true": true, "false": false, 5: true} {
		if reason, paused := Paused(pausable(dict{PausedAnnotation: value})); paused != want || want && reason != "" && reason != value {
			t.Errorf("%v: %q, %v", value, reason, paused)
		}
	}
	for _, tree := range []dict{nil, {"metadata": "x"}, {"metadata": dict{"annotations": []any{}}}, pausable(dict{"other/paused": "x"})} {
		if _, paused := Paused(tree); paused {
			t.Errorf("%v is not paused", tree)
		}
	}
}

func TestWithoutPaused_PauseIsNoChange(t *testing.T) {
	essence := pausable(dict{PausedAnnotation: "x", "other": "y"})
	if diff := cmp.Diff(pausable(dict{"other": "y"}), WithoutPaused(essence)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(pausable(dict{PausedAnnotation: "x", "other": "y"}), essence); diff != "" {
		t.Errorf("the essence itself is modified: %s", diff)
	}
	only := dict{"metadata": dict{"annotations": dict{PausedAnnotation: "x"}}, "spec": dict{}}
	if diff := cmp.Diff(dict{"spec": dict{}}, WithoutPaused(only)); diff != "" {
		t.Errorf("nothing empty remains: %s", diff)
	}
}
