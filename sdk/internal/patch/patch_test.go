package patch

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestPatch_CollectsChanges(t *testing.T) {
	p := NewPatch()
	if !p.Empty() {
		t.Error("a new patch is not empty")
	}
	p.Set(object.Path{"spec", "a"}, int64(1))
	p.Set(object.Path{"spec", "a", "b"}, int64(2))
	p.Remove(object.Path{"spec", "gone"})
	p.Set(object.Path{"status", "x", "y"}, "temporary")
	p.Discard(object.Path{"status", "x", "y"})
	p.Discard(object.Path{"never", "there"})
	p.Discard(object.Path{"spec", "gone", "deeper"})
	p.Set(nil, "the root is not set")
	p.Discard(nil)
	p.Merge(map[string]any{"spec": map[string]any{"a": map[string]any{"c": int64(3)}, "list": []any{"x"}}, "metadata": nil})
	want := map[string]any{
		"spec":     map[string]any{"a": map[string]any{"b": int64(2), "c": int64(3)}, "gone": nil, "list": []any{"x"}},
		"metadata": nil,
	}
	if diff := cmp.Diff(want, p.Tree()); diff != "" {
		t.Error(diff)
	}
	if v, ok := p.Lookup(object.Path{"spec", "gone"}); v != nil || !ok {
		t.Error("a deletion is not seen")
	}
	if p.Empty() {
		t.Error("a patch with changes is empty")
	}
}

func TestPatch_SharesNothingWithItsInput(t *testing.T) {
	other := map[string]any{"spec": map[string]any{"list": []any{"x"}}}
	p := NewPatch()
	p.Merge(other)
	p.Set(object.Path{"spec", "more"}, true)
	p.Tree()["spec"].(map[string]any)["list"].([]any)[0] = "y"
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"list": []any{"x"}}}, other); diff != "" {
		t.Error(diff)
	}
	if v, _ := p.Lookup(object.Path{"spec", "list"}); !cmp.Equal(v, any([]any{"x"})) {
		t.Error("a copy of the patch changes the patch")
	}
}

func TestPatch_AppendIncludesTransformations(t *testing.T) {
	p, other := NewPatch(), NewPatch()
	p.Set(object.Path{"spec", "a"}, 1)
	other.Set(object.Path{"spec", "b"}, 2)
	other.AddFn(func(map[string]any) error { return nil })
	p.Append(other)
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"a": 1, "b": 2}}, p.Tree()); diff != "" || len(p.Fns()) != 1 {
		t.Error(diff, len(p.Fns()))
	}
	onlyFns := NewPatch()
	onlyFns.AddFn(func(map[string]any) error { return nil })
	if onlyFns.Empty() {
		t.Error("a patch with functions is empty")
	}
}

func TestJoined_EqualsAppendAndChangesNeither(t *testing.T) {
	patches := func() (first, second *Patch) {
		first, second = NewPatch(), NewPatch()
		first.Set(object.Path{"spec", "a"}, 1)
		first.Set(object.Path{"metadata", "labels"}, nil)
		first.AddFn(func(map[string]any) error { return nil })
		second.Set(object.Path{"spec", "a", "b"}, 2)
		second.Set(object.Path{"metadata", "annotations", "c"}, "d")
		second.Set(object.Path{"status", "e"}, nil)
		return first, second
	}
	first, second := patches()
	for _, all := range [][2]*Patch{{first, second}, {second, first}, {NewPatch(), first}, {first, NewPatch()}, {NewPatch(), NewPatch()}} {
		appended := NewPatch()
		appended.Append(all[0])
		appended.Append(all[1])
		joined := Joined(all[0], all[1])
		if diff := cmp.Diff(appended.Tree(), joined.Tree()); diff != "" || len(joined.Fns()) != len(appended.Fns()) {
			t.Error(diff, len(joined.Fns()))
		}
	}
	wantFirst, wantSecond := patches()
	if diff := cmp.Diff(wantFirst.Tree(), first.Tree()) + cmp.Diff(wantSecond.Tree(), second.Tree()); diff != "" {
		t.Error(diff)
	}
}

func TestPatch_ConcurrentUse(t *testing.T) {
	p := NewPatch()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			p.Set(object.Path{"status", strconv.Itoa(i)}, i)
			p.AddFn(func(map[string]any) error { return nil })
			p.Tree()
			p.Lookup(object.Path{"status", "0"})
			p.DropAnnotations(func(string) bool { return true })
		})
	}
	wg.Wait()
	if got := len(p.Tree()["status"].(map[string]any)); got != 20 || len(p.Fns()) != 20 {
		t.Error(got, len(p.Fns()))
	}
}
