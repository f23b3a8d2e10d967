package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Render returns the objects with the values of references. A text that is nothing but a reference becomes the value with its
// type, such as a number or a map; null and a null field remove it. Otherwise, the value is inserted into the text. The
// path ${vars.x} leads to a variable. The error has all references without a value, each with its file and line.
func (s *Set) Render(owner map[string]any, vars map[string]any) ([]map[string]any, error) {
	variables := make(map[string]any, len(vars))
	for name, value := range vars {
		tree, err := object.Normalize(value)
		if err != nil {
			return nil, fmt.Errorf("render manifests: vars.%s: %w", name, err)
		}
		variables[name] = tree
	}
	objects := make([]map[string]any, 0, len(s.manifests))
	var problems []error
	for i := range s.manifests {
		m := &s.manifests[i]
		r := renderer{m: m, owner: owner, vars: map[string]any{"vars": variables}}
		rendered, _ := r.render(m.tree).(map[string]any)
		objects, problems = append(objects, rendered), append(problems, r.problems...)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return objects, nil
}

type renderer struct {
	m           *manifest
	owner, vars map[string]any
	problems    []error
}

// fail records why a reference has no usable value; once, although the manifest may repeat the reference.
func (r *renderer) fail(s segment, format string, args ...any) {
	problem := r.m.errorAt(r.m.lineOf(s.text), "%s: %w", s.text, fmt.Errorf(format, args...))
	for _, known := range r.problems {
		if known.Error() == problem.Error() {
			return
		}
	}
	r.problems = append(r.problems, problem)
}

// render returns a copy of a value with the values of references.
func (r *renderer) render(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range object.SortedKeys(v) {
			out[key] = r.render(v[key])
			if out[key] == nil {
				delete(out, key)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.render(item)
		}
		return out
	case string:
		if parts, ok := r.m.parts[v]; ok {
			return r.fill(parts)
		}
	}
	return v
}

func (r *renderer) fill(parts template) any {
	if len(parts) == 1 && parts[0].path != nil {
		return object.Clone(r.value(parts[0]))
	}
	var b strings.Builder
	for _, s := range parts {
		if s.path == nil {
			b.WriteString(s.text)
			continue
		}
		switch v := r.value(s).(type) {
		case string:
			b.WriteString(v)
		case bool:
			b.WriteString(strconv.FormatBool(v))
		case int64, json.Number:
			fmt.Fprint(&b, v)
		case float64: // fmt would write 1.5e+06
			text, err := json.Marshal(v)
			if err != nil {
				r.fail(s, "%w", err)
			}
			b.Write(text)
		case nil:
		default:
			r.fail(s, "a %s cannot be a part of a text: write the reference alone, without other text", kindOf(v))
		}
	}
	return b.String()
}

// value returns the value of a reference; nil if it is null, or absent, which is an error.
func (r *renderer) value(s segment) any {
	root, missing := r.owner, "the object has no such field; set a default in the definition, or use a variable"
	if s.path[0] == "vars" {
		root, missing = r.vars, "no such variable is passed to Render"
	}
	v, found := object.Lookup(root, s.path)
	if !found {
		r.fail(s, "%s", missing)
	}
	return v
}

// kindOf names the type of a value for a person.
func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "map"
	case []any:
		return "list"
	case string:
		return "text"
	}
	return fmt.Sprintf("%T", v)
}
