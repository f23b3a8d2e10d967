package object

import (
	"encoding/json"
	"math"
	"testing"
)

func TestCheckTree_WhatJSONCannotExpress(t *testing.T) {
	itself := map[string]any{}
	itself["list"] = []any{itself}
	deep := any("x")
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"NaN": math.NaN(), "infinity": map[string]any{"a": []any{math.Inf(-1)}}, "no number": json.Number("1e"), "itself": itself, "deep": deep,
	} {
		if err := CheckTree(v); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := Normalize(v); err == nil {
			t.Errorf("%s: normalized", name)
		}
		if _, err := Normalize(map[string]any{"int": 1, "v": v}); err == nil {
			t.Errorf("%s: normalized", name)
		}
	}
	for _, v := range []any{nil, 1.5, json.Number("12345678901234567890"), map[string]any{"a": []any{int64(1), "x", true}}} {
		if err := CheckTree(v); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
}
