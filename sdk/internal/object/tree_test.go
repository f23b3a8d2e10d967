package object

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEqual_AsPython(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true}, {nil, false, false}, {nil, int64(0), false}, {nil, "", false},
		{int64(1), 1.0, true}, {int64(1), true, true}, {1.0, true, true}, {int64(0), false, true}, {true, true, true}, {true, false, false},
		{int64(1), "1", false}, {"a", "a", true}, {"a", "b", false}, {1, int64(1), true},
		{int64(1<<53 + 1), float64(1 << 53), false}, {int64(1 << 53), float64(1 << 53), true},
		{int64(math.MaxInt64), float64(1 << 63), false}, {int64(math.MinInt64), -float64(1 << 63), true},
		{math.NaN(), math.NaN(), false}, {0.1, int64(0), false},
		{json.Number("12345678901234567890"), json.Number("12345678901234567890"), true},
		{json.Number("12345678901234567890"), json.Number("12345678901234567891"), false},
		{json.Number("12345678901234567890"), 12345678901234567890.0, true},
		{12345678901234567890.0, json.Number("12345678901234567890"), true},
		{json.Number("12345678901234567890"), int64(1), false}, {json.Number("1"), int64(1), true}, {json.Number("1.5"), 1.5, true},
		{json.Number("18446744073709551616"), json.Number("018446744073709551616"), true},
		{json.Number(""), json.Number(""), false},
		{[]any{int64(1), "a"}, []any{1.0, "a"}, true}, {[]any{"a"}, []any{"a", "a"}, false}, {[]any{"a"}, []any{"b"}, false}, {[]any{}, map[string]any{}, false},
		{map[string]any{"a": int64(1)}, map[string]any{"a": true}, true}, {map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{map[string]any{"a": nil}, map[string]any{}, false}, {map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}, false},
		{struct{}{}, struct{}{}, false},
	} {
		if got := Equal(c.a, c.b); got != c.want {
			t.Errorf("%v (%T) and %v (%T): %v", c.a, c.a, c.b, c.b, got)
		}
		if got := Equal(c.b, c.a); got != c.want {
			t.Errorf("not the same in the other direction: %v and %v", c.b, c.a)
		}
	}
}

func TestClone_SharesNothing(t *testing.T) {
	original := map[string]any{"m": map[string]any{"l": []any{map[string]any{"k": "v"}, nil, []any(nil)}}, "none": map[string]any(nil)}
	clone := CloneMap(original)
	if diff := cmp.Diff(original, clone); diff != "" {
		t.Fatal(diff)
	}
	clone["m"].(map[string]any)["l"].([]any)[0].(map[string]any)["k"] = "changed"
	if original["m"].(map[string]any)["l"].([]any)[0].(map[string]any)["k"] != "v" {
		t.Error("the original was changed")
	}
}

func TestNormalize_GoTypes(t *testing.T) {
	type inner struct {
		Big uint64  `json:"big"`
		F   float64 `json:"f"`
		N   int     `json:"n"`
	}
	got, err := Normalize(map[string]any{
		"s": inner{Big: math.MaxUint64, F: 1.5, N: 1}, "p": &inner{}, "nil": (*inner)(nil), "l": []any{1, []string{"a"}}, "m": map[string]int{"k": 1},
		"i": 7, "raw": json.RawMessage(`{"a":[1,2.0]}`),
	})
	want := map[string]any{
		"s":   map[string]any{"big": json.Number("18446744073709551615"), "f": 1.5, "n": int64(1)},
		"p":   map[string]any{"big": int64(0), "f": int64(0), "n": int64(0)},
		"nil": nil, "l": []any{int64(1), []any{"a"}}, "m": map[string]any{"k": int64(1)}, "i": int64(7), "raw": map[string]any{"a": []any{int64(1), 2.0}},
	}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestNormalize_MapsOfTexts(t *testing.T) {
	for _, texts := range []map[string]string{nil, {}, {"message": "hello", "é": "<&>"}, {"broken": "\xff"}, {"\xff": ""}} {
		text, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		want, err := DecodeJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Normalize(texts); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, %v instead of %#v", texts, got, err, want)
		}
	}
}

func TestNormalize_ErrorsNameTheField(t *testing.T) {
	_, err := Normalize(map[string]any{"list": []any{"a", make(chan int)}})
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok || err.Error()[:10] != "list: [1]:" {
		t.Error(err)
	}
}

func TestNormalize_TreesAreNotCopied(t *testing.T) {
	v := any(map[string]any{"a": []any{"b", int64(1), 1.5, true, nil, json.Number("1")}})
	if allocs := testing.AllocsPerRun(10, func() {
		if _, err := Normalize(v); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestAnnotations_NilIfAbsentOrOfAnotherType(t *testing.T) {
	for _, object := range []map[string]any{nil, {}, {"metadata": nil}, {"metadata": "text"}, {"metadata": map[string]any{"annotations": nil}}} {
		if Annotations(object) != nil {
			t.Error(object)
		}
	}
	object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"k": "v"}}}
	if diff := cmp.Diff(map[string]any{"k": "v"}, Annotations(object)); diff != "" {
		t.Error(diff)
	}
}
