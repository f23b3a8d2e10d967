package object

import "slices"

// Clone returns a deep copy of a tree. It does not copy values of types that a tree does not
// have.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return CloneMap(v)
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Clone(item)
		}
		return out
	default:
		return v
	}
}

// CloneMap is [Clone] for a map.
func CloneMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = Clone(v)
	}
	return out
}

// Metadata returns the metadata of an object, or nil if it has none.
func Metadata(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	return meta
}

// Annotations returns the annotations of an object, or nil if it has none.
func Annotations(object map[string]any) map[string]any {
	annotations, _ := Metadata(object)["annotations"].(map[string]any)
	return annotations
}

// SortedKeys returns the keys of a map in the order of their bytes.
func SortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m)) // an iterator would allocate more
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
