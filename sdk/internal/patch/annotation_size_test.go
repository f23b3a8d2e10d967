package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestAnnotationsSize_AfterTheMergePatch(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "12345", "b": "1"}}}
	annotations := func(m map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": m}}
	}
	for _, c := range []struct {
		merge map[string]any
		want  int
	}{
		{nil, 8},
		{annotations(map[string]any{"a": "1"}), 4},
		{annotations(map[string]any{"a": nil, "gone": nil}), 2},
		{annotations(map[string]any{"cé": "é"}), 8 + 3 + 2},
		{map[string]any{"metadata": map[string]any{"annotations": nil}}, 0},
		{map[string]any{"metadata": nil}, 0},
	} {
		if got := AnnotationsSize(object, c.merge); got != c.want {
			t.Errorf("%v: %d, not %d", c.merge, got, c.want)
		}
	}
	if got := AnnotationsSize(nil, nil); got != 0 {
		t.Error(got)
	}
}

func TestDropAnnotations_KeepsDeletions(t *testing.T) {
	p := NewPatch()
	p.Set(object.Path{"metadata", "annotations", "kopf/b"}, "x")
	p.Set(object.Path{"metadata", "annotations", "kopf/a"}, "x")
	p.Remove(object.Path{"metadata", "annotations", "kopf/gone"})
	p.Set(object.Path{"metadata", "annotations", "user"}, "x")
	dropped := p.DropAnnotations(func(key string) bool { return strings.HasPrefix(key, "kopf/") })
	want := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf/gone": nil, "user": "x"}}}
	if diff := cmp.Diff(want, p.Tree()) + cmp.Diff([]string{"kopf/a", "kopf/b"}, dropped); diff != "" {
		t.Error(diff)
	}
}
