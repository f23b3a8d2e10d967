package patch

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestAPatchCollectsItsParts(t *testing.T) {
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

func TestAPatchSharesNothingWithWhatWasPutIn(t *testing.T) {
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

func TestOnePatchAppendedToAnotherBringsItsFunctionsToo(t *testing.T) {
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

func TestSeveralGoroutinesWriteToOnePatch(t *testing.T) {
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

func TestOperationsAreWrittenWithTheirValueEvenIfNull(t *testing.T) {
	got, err := json.Marshal([]Op{{Op: OpAdd, Path: "/a", Value: nil}, {Op: OpRemove, Path: "/b"}, {Op: OpTest, Path: "/c~1d", Value: "10"}})
	want := `[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/b"},{"op":"test","path":"/c~1d","value":"10"}]`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestListsAreChangedItemByItem(t *testing.T) {
	list := func(items ...any) map[string]any { return map[string]any{"l": items} }
	for _, c := range []struct {
		before, after map[string]any
		want          string
	}{
		{list("a", "b", "c"), list("a", "c"), `remove /l/1`},
		{list("a", "c"), list("a", "b", "c"), `add /l/1`},
		{list("a", "b"), list("x", "b"), `replace /l/0`},
		{list(map[string]any{"n": int64(1)}, "b"), list(map[string]any{"n": int64(2)}, "b"), `replace /l/0/n`},
		{list("a"), list(), `remove /l/0`},
		{list(int64(1)), list(1.0), `replace /l/0`},
		{list("a", "b", "c", "d"), list("d"), `remove /l/0, remove /l/0, remove /l/0`},
		{list("a"), list("b", "c", "d"), `replace /l/0, add /l/1, add /l/2`},
		{list([]any{"x"}), list([]any{"x", "y"}), `add /l/0/1`},
		{list("a"), map[string]any{"l": "a"}, `replace /l`},
		{list("a"), map[string]any{"l": map[string]any{}}, `replace /l`},
		{map[string]any{"l": "a"}, list("a"), `replace /l`},
		{list("a"), list("a"), ``},
		{list(map[string]any{"a": []any{int64(1)}}), list(map[string]any{"a": []any{int64(1)}}), ``},
	} {
		p := NewPatch()
		p.AddFn(func(object map[string]any) error {
			object["l"] = c.after["l"]
			return nil
		})
		ops, err := p.JSONPatch(c.before)
		var texts []string
		for _, op := range ops {
			texts = append(texts, op.Op+" "+op.Path)
		}
		if got := strings.Join(texts, ", "); got != c.want || err != nil {
			t.Errorf("%v to %v: %s, %v", c.before, c.after, got, err)
		}
	}
}

func TestAFunctionMayUseGoTypesButNothingThatIsNoJSON(t *testing.T) {
	p := NewPatch()
	p.AddFn(func(object map[string]any) error {
		object["tags"] = []string{"a"}
		return nil
	})
	ops, err := p.JSONPatch(nil)
	if diff := cmp.Diff([]Op{{Op: OpAdd, Path: "/tags", Value: []any{"a"}}}, ops); diff != "" || err != nil {
		t.Error(err, diff)
	}
	p.AddFn(func(object map[string]any) error {
		object["bad"] = func() {}
		return nil
	})
	if _, err := p.JSONPatch(nil); err == nil {
		t.Error("a function was put into JSON")
	}
}

func TestAFailingFunctionFailsThePatch(t *testing.T) {
	broken := errors.New("broken")
	p := NewPatch()
	p.AddFn(func(map[string]any) error { return broken })
	if _, err := p.JSONPatch(map[string]any{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTheSizeOfAnnotationsIsKnownBeforeTheyAreWritten(t *testing.T) {
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

func TestAnnotationsAreDroppedButNotTheirDeletion(t *testing.T) {
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

func TestWhatAPatchWillMakeOfAnObjectIsForeseen(t *testing.T) {
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
