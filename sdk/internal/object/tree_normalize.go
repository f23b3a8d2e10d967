package object

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Normalize converts a value of any Go type into a tree by its JSON. It returns a value that
// is a tree as it is, without a copy.
func Normalize(v any) (any, error) {
	if isTree(v) {
		return v, nil
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case map[string]any:
		return normalizeMap(v)
	case []any:
		return normalizeList(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be expressed as JSON: %w", v, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("%T cannot be expressed as JSON: %w", v, err)
	}
	return plainNumbers(out), nil
}

// isTree reports whether a value consists of a tree's types only.
func isTree(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, json.Number:
		return true
	case map[string]any:
		for _, item := range v {
			if !isTree(item) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range v {
			if !isTree(item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func normalizeMap(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for k, item := range m {
		item, err := Normalize(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = item
	}
	return out, nil
}

func normalizeList(list []any) (any, error) {
	out := make([]any, len(list))
	for i, item := range list {
		item, err := Normalize(item)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = item
	}
	return out, nil
}

// plainNumbers converts the [json.Number] values of a decoded tree in place, except for
// integers that exceed 64 bits.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	case json.Number:
		n, ok := parseNumber(v)
		switch {
		case ok && n.isInt:
			return n.i
		case ok && n.isFloat:
			return n.f
		}
	}
	return v
}
