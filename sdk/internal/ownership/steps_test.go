package ownership

import (
	"maps"
	"slices"
	"strconv"
)

// steps lead to a field of an object: a string is a member of a map, and a tree the item of a list that has these keys.
type steps []any

// index returns the place of the item that a step names, or -1.
func index(list []any, step any) int {
	return slices.IndexFunc(list, func(item any) bool {
		for key, value := range step.(tree) {
			if item.(tree)[key] != value {
				return false
			}
		}
		return true
	})
}

// set changes a field in place, or removes it if the value is nil. It returns the changed value for its parent.
func set(v any, path steps, value any) any {
	if len(path) == 0 {
		return value
	}
	if key, ok := path[0].(string); ok {
		m, _ := v.(tree)
		if m == nil {
			m = tree{}
		}
		if changed := set(m[key], path[1:], value); changed != nil {
			m[key] = changed
		} else {
			delete(m, key)
		}
		return m
	}
	list, _ := v.([]any)
	at := index(list, path[0])
	if changed := set(list[at], path[1:], value); changed != nil {
		list[at] = changed
		return list
	}
	return slices.Delete(list, at, at+1)
}

// pointer returns the JSON pointer of a field.
func pointer(v any, path steps) string {
	all := ""
	for _, step := range path {
		if key, ok := step.(string); ok {
			m, _ := v.(tree)
			all, v = all+"/"+escape(key), m[key]
			continue
		}
		at := index(v.([]any), step)
		all, v = all+"/"+strconv.Itoa(at), v.([]any)[at]
	}
	return all
}

func escape(key string) string {
	escaped := ""
	for _, r := range key {
		switch r {
		case '~':
			escaped += "~0"
		case '/':
			escaped += "~1"
		default:
			escaped += string(r)
		}
	}
	return escaped
}

// mergePatch returns the merge patch of a field: lists are sent as a whole.
func mergePatch(live any, path steps, value any) any {
	if len(path) == 0 {
		return value
	}
	key, ok := path[0].(string)
	if !ok {
		return set(live, path, value)
	}
	m, _ := live.(tree)
	return tree{key: mergePatch(m[key], path[1:], value)}
}

// partial returns an object with nothing but a field, in the items of lists with their keys. The value nil removes an item
// in a strategic merge patch.
func partial(path steps, value any) any {
	if len(path) == 0 {
		return value
	}
	if key, ok := path[0].(string); ok {
		return tree{key: partial(path[1:], value)}
	}
	item := maps.Clone(path[0].(tree))
	if len(path) == 1 && value == nil {
		item["$patch"] = "delete"
		return []any{item}
	}
	if below, ok := partial(path[1:], value).(tree); ok {
		maps.Copy(item, below)
	}
	return []any{item}
}
