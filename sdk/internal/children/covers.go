package children

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// tracked are the fields of the metadata whose managers the API server records.
var tracked = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// cover returns the coverage of a canonical tree by the fields of an entry.
func cover(fields, desired map[string]any) coverage {
	var c coverage
	for _, key := range object.SortedKeys(desired) {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			c.metadata(fields, object.Metadata(desired))
		default:
			c.member(fields, key, desired[key], nil)
		}
	}
	return c
}

// coverage is the result of the comparison of a desired object with an entry of managedFields.
type coverage struct {
	missing []fieldPath // desired fields that the entry lacks
	whole   []part      // maps and lists that the entry has without their contents
}

// part is a value at a path of an object.
type part struct {
	at    fieldPath
	value any
}

func (c *coverage) metadata(fields, meta map[string]any) {
	at := step{kind: 'f', name: "metadata"}
	fields, _ = below(fields, at)
	for _, key := range tracked {
		if value, ok := meta[key]; ok {
			c.member(fields, key, value, fieldPath{at})
		}
	}
}

// member compares a member of a map with the fields of the map.
func (c *coverage) member(fields map[string]any, key string, value any, within fieldPath) {
	s := step{kind: 'f', name: key}
	sub, found := below(fields, s)
	if m, isMap := value.(map[string]any); !found && isMap && len(m) > 0 {
		for _, key := range object.SortedKeys(m) { // report the fields as missing rather than the map
			c.member(nil, key, m[key], within.with(s))
		}
		return
	}
	c.visit(sub, found, value, within.with(s))
}

// visit compares a value with the part of the entry for it.
func (c *coverage) visit(fields map[string]any, found bool, value any, at fieldPath) {
	switch {
	case !found && blank(value): // the API server records no manager of an empty list
		return
	case !found:
		c.missing = append(c.missing, at)
		return
	case len(fields) == 0:
		switch value := value.(type) {
		case map[string]any, []any:
			c.whole = append(c.whole, part{at, value})
		}
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range object.SortedKeys(value) {
			c.member(fields, key, value[key], at)
		}
	case []any:
		c.list(fields, value, at)
	default:
		if len(fields) > 1 || fields["."] == nil { // the value was a map or a list when it was applied
			c.missing = append(c.missing, at)
		}
	}
}

func (c *coverage) list(fields map[string]any, items []any, at fieldPath) {
	kind, keys := listType(fields)
	switch kind {
	case 'k':
		c.mapList(fields, items, keys, at)
	case 'v', 'i':
		for i, item := range items {
			s := step{kind: kind, name: fmt.Sprint(item), item: item}
			if kind == 'i' {
				s.name = fmt.Sprint(i)
			}
			sub, found := below(fields, s)
			c.visit(sub, found, item, at.with(s))
		}
	default: // the entry has no item
		if len(items) > 0 {
			c.missing = append(c.missing, at)
		}
	}
}

// listType returns the kind of the steps to the items of a list, and the keys of one of the items. It returns 0 if the fields have
// no items.
func listType(fields map[string]any) (byte, map[string]any) {
	for key := range fields {
		switch {
		case strings.HasPrefix(key, "k:"):
			if keys := keysOf(key); keys != nil {
				return 'k', keys
			}
		case strings.HasPrefix(key, "v:"):
			return 'v', nil
		case strings.HasPrefix(key, "i:"):
			return 'i', nil
		}
	}
	return 0, nil
}

// held returns the parts of a value that the fields of another manager's entry contain. It returns nil if the entry has the value
// only as a whole.
func held(fields map[string]any, value any, at fieldPath) []fieldPath {
	var all []fieldPath
	visit := func(s step, item any) {
		sub, found := below(fields, s)
		switch inner := held(sub, item, at.with(s)); {
		case found && inner != nil:
			all = append(all, inner...)
		case found && len(sub) == 0:
			all = append(all, at.with(s))
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range object.SortedKeys(value) {
			visit(step{kind: 'f', name: key}, value[key])
		}
	case []any:
		kind, keys := listType(fields)
		for i, item := range value {
			s := step{kind: kind, name: fmt.Sprint(item), item: item}
			switch m, _ := item.(map[string]any); kind {
			case 'k':
				s.name = nameOfItem(m, keys)
			case 'i':
				s.name = fmt.Sprint(i)
			}
			visit(s, item)
		}
	}
	return all
}

// mapList compares the items of a list with keys, such as containers. Each item of the entry matches at most one item of the list.
// Items with all keys match first.
func (c *coverage) mapList(fields map[string]any, items []any, keys map[string]any, at fieldPath) {
	recorded := map[string]map[string]any{}
	for _, key := range object.SortedKeys(fields) {
		if keys := keysOf(key); keys != nil {
			recorded[key] = keys
		}
	}
	parts := make([]map[string]any, len(items))
	for _, exact := range []bool{true, false} {
		for i, item := range items {
			if parts[i] != nil {
				continue
			}
			for _, key := range object.SortedKeys(recorded) {
				if matches(item, recorded[key], exact) {
					parts[i], _ = fields[key].(map[string]any)
					delete(recorded, key)
					break
				}
			}
		}
	}
	for i, item := range items {
		m, ok := item.(map[string]any)
		s := step{kind: 'k', item: item}
		if ok {
			s.name = nameOfItem(m, keys)
		}
		if s.name == "" {
			s.kind, s.name = 'i', fmt.Sprint(i)
		}
		c.visit(parts[i], parts[i] != nil, item, at.with(s))
	}
}
