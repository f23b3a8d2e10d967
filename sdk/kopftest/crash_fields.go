package kopftest

import (
	"encoding/json"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// setBy returns an object with only its identity, whether it is being deleted, and the fields that some field managers have set.
// The controllers of the cluster change other fields at any time.
func setBy(o map[string]any, managers map[string]bool) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	owned := map[string]any{}
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		entry, _ := entry.(map[string]any)
		manager, _ := entry["manager"].(string)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok && managers[manager] {
			owned = unionFields(owned, fields)
		}
	}
	delete(owned, ".")
	kept := map[string]any{}
	if len(owned) > 0 {
		kept, _ = keepFields(o, owned).(map[string]any)
	}
	identity := map[string]any{}
	if fields, ok := kept["metadata"].(map[string]any); ok {
		identity = fields
	}
	for _, field := range []string{"name", "namespace", "generateName", "deletionTimestamp"} {
		if value, ok := metadata[field]; ok {
			identity[field] = value
		}
	}
	kept["apiVersion"], kept["kind"], kept["metadata"] = o["apiVersion"], o["kind"], identity
	return kept
}

// unionFields returns the union of two sets of fields in the format of managedFields. An empty set stands for a whole value.
func unionFields(a, b map[string]any) map[string]any {
	union := make(map[string]any, len(a)+len(b))
	for key, value := range a {
		union[key] = value
	}
	for key, value := range b {
		more, _ := value.(map[string]any)
		known, both := union[key].(map[string]any)
		switch {
		case !both:
			union[key] = value
		case len(known) == 0 || len(more) == 0:
			union[key] = map[string]any{}
		default:
			union[key] = unionFields(known, more)
		}
	}
	return union
}

// keepFields returns the part of a value that a set of fields selects.
func keepFields(value any, fields map[string]any) any {
	if len(fields) == 0 {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range fields {
			name, isField := strings.CutPrefix(key, "f:")
			if member, ok := value[name]; isField && ok {
				inner, _ := inner.(map[string]any)
				kept[name] = keepFields(member, inner)
			}
		}
		return kept
	case []any:
		kept := []any{}
		for _, item := range value {
			for key, inner := range fields {
				if selects(key, item) {
					inner, _ := inner.(map[string]any)
					kept = append(kept, keepFields(item, inner))
				}
			}
		}
		return kept
	default:
		return value
	}
}

// selects reports whether the key of a field selects an item of a list: by the item's own keys, or by its value.
func selects(key string, item any) bool {
	var wanted any
	if text, ok := strings.CutPrefix(key, "v:"); ok {
		return json.Unmarshal([]byte(text), &wanted) == nil && object.Equal(wanted, item)
	}
	text, ok := strings.CutPrefix(key, "k:")
	if !ok || json.Unmarshal([]byte(text), &wanted) != nil {
		return false
	}
	keys, _ := wanted.(map[string]any)
	fields, _ := item.(map[string]any)
	for name, value := range keys {
		if !object.Equal(fields[name], value) {
			return false
		}
	}
	return len(keys) > 0
}
