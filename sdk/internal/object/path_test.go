package object

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPath_ParsesAndPrints(t *testing.T) {
	for field, want := range map[string]Path{
		"spec":      {"spec"},
		"spec.size": {"spec", "size"},
		"metadata.labels[app.kubernetes.io/name]": {"metadata", "labels", "app.kubernetes.io/name"},
		"spec.items[0].name":                      {"spec", "items", "[0]", "name"},
		"spec.matrix[1][22]":                      {"spec", "matrix", "[1]", "[22]"},
		"[a.b].c":                                 {"a.b", "c"},
		"data.0":                                  {"data", "0"},
		`data["a]b"].c`:                           {"data", "a]b", "c"},
		`data[""]`:                                {"data", ""},
		`data["\".\""]`:                           {"data", `"."`},
	} {
		got, err := ParsePath(field)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %q, %v", field, got, err)
		}
		if got.String() != field {
			t.Errorf("%s is written back as %s", field, got)
		}
	}
	if root, err := ParsePath(""); root != nil || err != nil {
		t.Error("the empty field is not the whole object:", root, err)
	}
}

func TestParsePath_Errors(t *testing.T) {
	for _, field := range []string{".", "a.", ".a", "a..b", "a[", "a[0", "a[]", "a[x]b", `a["x]`, `a["x"`, `a["x"b]`} {
		_, err := ParsePath(field)
		if mistake, ok := errors.AsType[*pathError](err); !ok || mistake.Field != field || mistake.Error() == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestLookup_IndicesOfLists(t *testing.T) {
	object := map[string]any{"items": []any{map[string]any{"name": "a"}, nil}, "map": map[string]any{"0": "zero"}}
	for field, want := range map[string]any{
		"items[0].name": "a", "items[1]": nil, "map[0]": "zero",
		"items[2]": "absent", "items[0].other": "absent", "items.name": "absent", "items[1].name": "absent", "items[99999999999999999999]": "absent",
	} {
		path, err := ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		got, found := Lookup(object, path)
		if !found {
			got = "absent"
		}
		if got != want {
			t.Errorf("%s: %v", field, got)
		}
	}
}

func TestPath_ChildrenShareNoMemory(t *testing.T) {
	parent := make(Path, 1, 8)
	parent[0] = "a"
	b, c := parent.Child("b"), parent.Child("c")
	if b.String() != "a.b" || c.String() != "a.c" || !c.HasPrefix(parent) || parent.HasPrefix(c) || b.HasPrefix(c) || !b.HasPrefix(nil) {
		t.Error(parent, b, c)
	}
}

func TestWith_LeavesTheOriginalUnchanged(t *testing.T) {
	original := func() map[string]any {
		return map[string]any{"a": map[string]any{"b": map[string]any{"c": 1}, "x": 1}, "s": "text", "e": map[string]any{}}
	}
	m := original()
	changed := []map[string]any{
		With(m, Path{"a", "b", "c"}, 2), With(m, Path{"new", "deep"}, 1), With(m, Path{"s", "x"}, 1),
		Without(m, Path{"a", "b", "c"}), Without(m, Path{"e", "x"}), Without(m, Path{"s"}),
	}
	want := []map[string]any{
		{"a": map[string]any{"b": map[string]any{"c": 2}, "x": 1}, "s": "text", "e": map[string]any{}},
		{"a": map[string]any{"b": map[string]any{"c": 1}, "x": 1}, "s": "text", "e": map[string]any{}, "new": map[string]any{"deep": 1}},
		{"a": map[string]any{"b": map[string]any{"c": 1}, "x": 1}, "s": map[string]any{"x": 1}, "e": map[string]any{}},
		{"a": map[string]any{"x": 1}, "s": "text", "e": map[string]any{}},
		{"a": map[string]any{"b": map[string]any{"c": 1}, "x": 1}, "s": "text"},
		{"a": map[string]any{"b": map[string]any{"c": 1}, "x": 1}, "e": map[string]any{}},
	}
	if diff := cmp.Diff(want, changed) + cmp.Diff(original(), m); diff != "" {
		t.Error(diff)
	}
}

func TestWithout_ReturnsTheTreeItselfIfNothingChanges(t *testing.T) {
	m := map[string]any{"a": map[string]any{"b": 1}, "s": "text"}
	for _, path := range []Path{nil, {"x"}, {"a", "x"}, {"a", "b", "c"}, {"s", "x"}} {
		if allocs := testing.AllocsPerRun(10, func() { Without(m, path) }); allocs > 0 {
			t.Errorf("%s: %v allocations", path, allocs)
		}
	}
}

func TestPath_ErrorsNameTheFieldAndTheObstacle(t *testing.T) {
	m := map[string]any{"a": "text"}
	_, missing := Resolve(m, Path{"b", "c"})
	_, notMap := Resolve(m, Path{"a", "c"})
	for _, err := range []error{missing, notMap, Ensure(m, Path{"a", "c"}, 1), Remove(m, Path{"a", "c"})} {
		if err == nil || err.Error() == "" {
			t.Error(err)
		}
	}
}

func TestWalk_CanStop(t *testing.T) {
	objs := []any{map[string]any{"spec": map[string]any{}}, []any{"scalar", map[string]any{}}}
	for limit := 1; limit <= 4; limit++ {
		n := 0
		for range Walk(objs, Path{"spec"}) {
			if n++; n == limit {
				break
			}
		}
		if n != limit {
			t.Errorf("%d of %d", n, limit)
		}
	}
}

func TestBarrier_TextAndTreeAgree(t *testing.T) {
	const text = `{"kind":"K","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1"},
		"spec": {"items": [ {"a": 1} ], "size": 3, "none": null, "map": {"s": "text"}}}`
	o, err := Parse([]byte(text), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := o.Tree()
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"spec": "", "spec.items": "", "spec.items.a": "spec.items", "spec.items.a.b": "spec.items", "spec.size.a": "spec.size",
		"spec.none.a": "", "spec.absent.a.b": "", "spec.map.s": "", "spec.map.s.a": "spec.map.s", "kind.a": "kind", "absent.a": "",
	} {
		path, err := ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		ofTree, _ := Barrier(tree, path)
		ofText, value, err := o.Barrier(path)
		if ofTree.String() != want || ofText.String() != want || err != nil || (want != "") != (value != nil) {
			t.Errorf("%s: %q of the tree, %q of the text, want %q: %v, %v", field, ofTree, ofText, want, value, err)
		}
	}
}
