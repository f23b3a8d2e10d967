package children

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// step is a part of a [fieldPath], and corresponds to a key of fieldsV1.
type step struct {
	kind byte   // 'f': member of a map; 'k': item of a list with keys; 'v': member of a set; 'i': item at an index
	name string // name of the member, index of the item, or value or keys of the item for people
	item any    // item of the list; nil for a member of a map
}

// fieldPath leads from an object to one of its fields.
type fieldPath []step

// with returns the path with another step at the end. The new path shares no memory with p.
func (p fieldPath) with(s step) fieldPath { return append(p[:len(p):len(p)], s) }

// String returns the path for people, such as spec.template.spec.containers[web].image.
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

// below returns the fields below a step; false if fieldsV1 lacks the step.
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

// subfields returns a part of fieldsV1; false if it is not a map. An empty part stands for a whole value, or for a map whose
// contents other managers took.
func subfields(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	return m, ok
}

// keysOf returns the keys of a list item from a key of fieldsV1, such as k:{"name":"web"}; nil for other keys of fieldsV1.
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

// matches reports whether an item of a list has the keys. Unless exact, an absent key matches each value, because the API server
// sets defaults, such as the protocol of a port.
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

// equalText reports whether JSON decodes to a value.
func equalText(v any, text string) bool {
	decoded, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return false
	}
	same, err := canonical(decoded)
	return err == nil && reflect.DeepEqual(v, same)
}

// nameOfItem returns the name of a list item for people: the values of its keys, in the order of the keys.
func nameOfItem(item map[string]any, keys map[string]any) string {
	var values []string
	for _, key := range object.SortedKeys(keys) {
		if value, ok := item[key]; ok {
			values = append(values, fmt.Sprint(value))
		}
	}
	return strings.Join(values, ",")
}
