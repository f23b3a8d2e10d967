package children

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Without returns a copy of a canonical tree without some fields. The paths of the fields have the API server's notation, as in the
// causes of a conflict: .spec.template.spec.containers[name="web"].image. Without also removes maps and lists that become empty.
// Items of lists remain with their keys, unless a path leads to the item itself. Without ignores paths that the tree lacks. It
// returns an error for a path that is not in this notation, or that can refer to several fields.
func Without(tree map[string]any, fields []string) (map[string]any, error) {
	var all cut
	for _, path := range fields {
		var s search
		if path != "" {
			s.in(tree, path, nil, nil)
		}
		switch len(s.found) {
		case 0:
			if err := checkPath(path); err != nil {
				return nil, err
			}
		case 1:
			all.add(s.found[0])
		default:
			return nil, fmt.Errorf("read the path %s: it can refer to several fields, since names contain dots", path)
		}
	}
	rest, _ := all.of(tree)
	if rest, ok := rest.(map[string]any); ok {
		return rest, nil
	}
	return map[string]any{}, nil
}

// cut describes the parts to remove from a value. A nil cut removes nothing.
type cut struct {
	whole bool         // remove the value itself
	parts map[any]*cut // keys are names of members, or indices of items
}

func (c *cut) add(at place) {
	for _, part := range at {
		if c.parts == nil {
			c.parts = map[any]*cut{}
		}
		if c.parts[part] == nil {
			c.parts[part] = new(cut)
		}
		c = c.parts[part]
	}
	c.whole = true
}

// of returns a copy of a value without the parts to remove; false if nothing remains.
func (c *cut) of(value any) (any, bool) {
	switch {
	case c == nil || !c.whole && c.parts == nil:
		return object.Clone(value), true
	case c.whole:
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			if rest, remains := c.parts[key].of(member); remains {
				out[key] = rest
			}
		}
		return out, len(out) > 0
	case []any:
		out := make([]any, 0, len(value))
		for i, item := range value {
			part := c.parts[i]
			if part != nil && part.whole {
				continue
			}
			rest, _ := part.of(item)
			out = append(out, rest)
		}
		return out, len(out) > 0
	}
	return object.Clone(value), true
}
