package objects

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// between returns the merge patch that makes one tree of another; nil if they are equal. Null and no value are the
// same.
func between(from, to map[string]any) map[string]any {
	var patch map[string]any
	set := func(key string, value any) {
		if patch == nil {
			patch = map[string]any{}
		}
		patch[key] = value
	}
	for key, before := range from {
		after := to[key]
		if equal(before, after) {
			continue
		}
		a, isMap := before.(map[string]any)
		b, areMaps := after.(map[string]any)
		if isMap && areMaps {
			if deeper := between(a, b); deeper != nil {
				set(key, deeper)
			}
			continue
		}
		set(key, after)
	}
	for key, after := range to {
		if _, known := from[key]; !known && after != nil {
			set(key, after)
		}
	}
	return patch
}

// equal compares values as JSON does: the types of numbers do not count.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// merged returns a tree with a merge patch applied. The values are shared.
func merged(tree, patch map[string]any) map[string]any {
	out := make(map[string]any, len(tree))
	for key, value := range tree {
		out[key] = value
	}
	for key, value := range patch {
		deeper, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isMap:
			inner, _ := out[key].(map[string]any)
			out[key] = merged(inner, deeper)
		default:
			out[key] = value
		}
	}
	return out
}

// leaves returns the paths of the values of a merge patch, sorted.
func leaves(patch map[string]any) [][]string {
	var all [][]string
	for key, value := range patch {
		deeper, isMap := value.(map[string]any)
		if !isMap || len(deeper) == 0 {
			all = append(all, []string{key})
			continue
		}
		for _, path := range leaves(deeper) {
			all = append(all, append([]string{key}, path...))
		}
	}
	slices.SortFunc(all, slices.Compare[[]string])
	return all
}

// at returns the value at a path; nil if there is none.
func at(tree any, path []string) any {
	for _, key := range path {
		m, _ := tree.(map[string]any)
		tree = m[key]
	}
	return tree
}

// name formats a path: "metadata.labels[example.com/tier]".
func name(path []string) string {
	var b strings.Builder
	for i, key := range path {
		switch {
		case strings.ContainsAny(key, ".["):
			b.WriteString("[" + key + "]")
		case i == 0:
			b.WriteString(key)
		default:
			b.WriteString("." + key)
		}
	}
	return b.String()
}
