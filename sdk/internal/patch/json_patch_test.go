package patch

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOp_MarshalsNullValues(t *testing.T) {
	got, err := json.Marshal([]Op{{Op: opAdd, Path: "/a", Value: nil}, {Op: opRemove, Path: "/b"}, {Op: opTest, Path: "/c~1d", Value: "10"}})
	want := `[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/b"},{"op":"test","path":"/c~1d","value":"10"}]`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestJSONPatch_ChangesListsByItem(t *testing.T) {
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

func TestJSONPatch_GoTypesMustHaveJSON(t *testing.T) {
	p := NewPatch()
	p.AddFn(func(object map[string]any) error {
		object["tags"] = []string{"a"}
		return nil
	})
	ops, err := p.JSONPatch(nil)
	if diff := cmp.Diff([]Op{{Op: opAdd, Path: "/tags", Value: []any{"a"}}}, ops); diff != "" || err != nil {
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

func TestJSONPatch_FailsWithATransformation(t *testing.T) {
	broken := errors.New("broken")
	p := NewPatch()
	p.AddFn(func(map[string]any) error { return broken })
	if _, err := p.JSONPatch(map[string]any{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}
