package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Normalize converts a value of any Go type into a tree by its JSON. It returns a value that
// is a tree as it is, without a copy. It returns an error for what JSON cannot express: see
// [CheckTree].
func Normalize(v any) (any, error) { return normalize(v, 0) }

func normalize(v any, depth int) (any, error) {
	switch plain, err := isTree(v, depth); {
	case err != nil:
		return nil, err
	case plain:
		return v, nil
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case map[string]any:
		return normalizeMap(v, depth)
	case []any:
		return normalizeList(v, depth)
	case map[string]string:
		if tree, ok := treeOfTexts(v); ok {
			return tree, nil
		}
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

// isTree reports whether a value consists of a tree's types only. It returns the errors of [CheckTree].
func isTree(v any, depth int) (bool, error) {
	if depth > maxDepth {
		return false, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, string, int64:
		return true, nil
	case float64, json.Number:
		return true, checkTree(v, depth)
	case map[string]any:
		for _, item := range v {
			if plain, err := isTree(item, depth+1); !plain || err != nil {
				return false, err
			}
		}
		return true, nil
	case []any:
		for _, item := range v {
			if plain, err := isTree(item, depth+1); !plain || err != nil {
				return false, err
			}
		}
		return true, nil
	default:
		return false, nil
	}
}

func normalizeMap(m map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(m))
	for k, item := range m {
		item, err := normalize(item, depth+1)
		if err != nil {
			return nil, within(k, err)
		}
		out[k] = item
	}
	return out, nil
}

// treeOfTexts converts a map of texts, as many handlers return one. It returns false for a nil map, and if a text is
// not valid UTF-8, which JSON cannot express.
func treeOfTexts(texts map[string]string) (map[string]any, bool) {
	if texts == nil {
		return nil, false
	}
	out := make(map[string]any, len(texts))
	for key, text := range texts {
		if !utf8.ValidString(key) || !utf8.ValidString(text) {
			return nil, false
		}
		out[key] = text
	}
	return out, true
}

func normalizeList(list []any, depth int) (any, error) {
	out := make([]any, len(list))
	for i, item := range list {
		item, err := normalize(item, depth+1)
		if err != nil {
			return nil, within(fmt.Sprintf("[%d]", i), err)
		}
		out[i] = item
	}
	return out, nil
}

// within adds where an error was found. The place of one that is too deep would be too long.
func within(where string, err error) error {
	if errors.Is(err, errTooDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", where, err)
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
