package children

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// step leads from a value to a part of it, as a key of fieldsV1 does.
type step struct {
	kind byte // 'f' is a member of a map, 'k' an item of a map list, 'v' a member of a set, 'i' an item at an index
	name string
	item any // the item of the list; nil for a member of a map
}

type fieldPath []step

// with returns the path that leads one step further. The new path shares no memory with other paths.
func (p fieldPath) with(s step) fieldPath { return append(p[:len(p):len(p)], s) }

// String returns the path in the notation of users: spec.template.spec.containers[web].image.
func (p fieldPath) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.kind != 'f' || s.name == "" || strings.ContainsAny(s.name, ".[]"):
			b.WriteString("[" + s.name + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// below returns the part of fieldsV1 to which a step leads; false if the fields have no such part.
func below(fields map[string]any, s step) (map[string]any, bool) {
	switch s.kind {
	case 'k':
		for key := range fields {
			if keys := keysOf(key); keys != nil && matches(s.item, keys, false) {
				return subfields(fields[key])
			}
		}
		return nil, false
	case 'v':
		for key := range fields {
			if value, ok := strings.CutPrefix(key, "v:"); ok && equalText(s.item, value) {
				return subfields(fields[key])
			}
		}
		return nil, false
	default:
		sub, ok := fields[string(s.kind)+":"+s.name]
		if !ok {
			return nil, false
		}
		return subfields(sub)
	}
}

// subfields returns a part of fieldsV1. An empty part stands for a whole value, or for a map whose contents were lost.
func subfields(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	return m, ok
}

// keysOf returns the keys of an item of a map list, which a key of fieldsV1 such as k:{"name":"web"} has; otherwise nil.
func keysOf(key string) map[string]any {
	text, ok := strings.CutPrefix(key, "k:")
	if !ok {
		return nil
	}
	decoded, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return nil
	}
	keys, err := canonical(decoded)
	if err != nil {
		return nil
	}
	m, _ := keys.(map[string]any)
	return m
}

// matches reports whether an item of a list has the keys. If absent keys count, an item without a key matches each value,
// since the API server sets defaults, such as the protocol of a port.
func matches(item any, keys map[string]any, exact bool) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for key, want := range keys {
		if got, found := m[key]; found && !reflect.DeepEqual(got, want) || !found && exact {
			return false
		}
	}
	return true
}

// equalText reports whether a JSON text has a value.
func equalText(v any, text string) bool {
	decoded, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return false
	}
	same, err := canonical(decoded)
	return err == nil && reflect.DeepEqual(v, same)
}

// nameOfItem names an item of a map list by the values of its keys, in the order of the keys.
func nameOfItem(item map[string]any, keys map[string]any) string {
	var values []string
	for _, key := range object.SortedKeys(keys) {
		if value, ok := item[key]; ok {
			values = append(values, fmt.Sprint(value))
		}
	}
	return strings.Join(values, ",")
}
