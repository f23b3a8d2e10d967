package objects

import "testing"

func TestParse_UneditedTextIsNoChange(t *testing.T) {
	base := map[string]any{
		"large": int64(9007199254740993), "float": 1.5, "whole": float64(2), "text": "1.0", "no": "no", "empty": map[string]any{},
		"list": []any{int64(1), "x", nil, true}, "lines": "a\nb\n", "null": nil,
	}
	s, err := text(base)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parse(s)
	if err != nil {
		t.Fatal(err)
	}
	if patch := between(base, tree); patch != nil {
		t.Errorf("it would change %v:\n%s", patch, s)
	}
}
