package patch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestForesee_IncludesTransformations(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{"list": []any{"a"}, "gone": "x", "kept": int64(1)}}
	p := NewPatch()
	p.Set(object.Path{"spec", "size"}, int64(5))
	p.Remove(object.Path{"spec", "gone"})
	p.AddFn(func(object map[string]any) error {
		spec := object["spec"].(map[string]any)
		spec["list"] = append(spec["list"].([]any), "b")
		delete(spec, "kept")
		return nil
	})
	after, changes, err := p.Foresee(obj)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"spec": map[string]any{"list": []any{"a", "b"}, "size": int64(5)}}
	if !cmp.Equal(want, after) {
		t.Error(cmp.Diff(want, after))
	}
	want = map[string]any{"spec": map[string]any{"list": []any{"a", "b"}, "size": int64(5), "gone": nil, "kept": nil}}
	if !cmp.Equal(want, changes) {
		t.Error(cmp.Diff(want, changes))
	}
	if again := Merged(obj, changes); !cmp.Equal(after, again) {
		t.Error("the changes do not lead there: " + cmp.Diff(after, again))
	}
	if untouched := obj["spec"].(map[string]any); len(untouched) != 3 || len(untouched["list"].([]any)) != 1 {
		t.Errorf("the object itself is changed: %v", obj)
	}
}
