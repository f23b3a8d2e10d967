package object

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Normalize turns a value of any Go type into a tree, through its JSON form where
// it is not a tree already. What is a tree already is returned as it is, not copied.
func Normalize(v any) (any, error) {
	if IsTree(v) {
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

// IsTree reports whether a value consists of the types of a tree alone.
func IsTree(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, json.Number:
		return true
	case map[string]any:
		for _, item := range v {
			if !IsTree(item) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range v {
			if !IsTree(item) {
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

// plainNumbers replaces the numbers of a freshly decoded tree in place. Only the
// integers beyond 64 bits remain what they are.
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
