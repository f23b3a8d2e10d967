package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// schemas are the schemas of an API group and version by their names, as the API server publishes them.
type schemas map[string]map[string]any

// of returns the schema of a kind; nil if there is none.
func (s schemas) of(group, version, kind string) map[string]any {
	for _, schema := range s {
		kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			if k := asMap(k); k["group"] == group && k["version"] == version && k["kind"] == kind {
				return schema
			}
		}
	}
	return nil
}

// resolved returns a schema merged with the schemas that it refers to. Its own description and default take
// precedence.
func (s schemas) resolved(schema map[string]any) map[string]any {
	target, _ := schema["$ref"].(string)
	if all, _ := schema["allOf"].([]any); target == "" && len(all) == 1 {
		target, _ = asMap(all[0])["$ref"].(string)
	}
	if target == "" {
		return schema
	}
	found := maps.Clone(s[strings.TrimPrefix(target, "#/components/schemas/")])
	if found == nil {
		found = map[string]any{}
	}
	for _, own := range []string{"description", "default"} {
		if value, ok := schema[own]; ok {
			found[own] = value
		}
	}
	return found
}

// maxNesting bounds the depth of a skeleton: schemas may refer to themselves.
const maxNesting = 8

// skeleton returns the text of a new object of a resource: its required fields with their defaults or the least values that
// the schema allows, and the other fields as comments. Without a schema, it has no fields.
func (s schemas) skeleton(res inspect.Resource, metadata map[string]any) (string, error) {
	gvr := resourceOf(res.Key)
	head, err := text(map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": res.Kind, "metadata": metadata})
	if err != nil {
		return "", err
	}
	w := &skeletonWriter{schemas: s}
	w.b.WriteString(head)
	schema := s.resolved(s.of(gvr.Group, gvr.Version, res.Kind))
	properties := maps.Clone(asMap(schema["properties"]))
	for _, known := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(properties, known)
	}
	required := textsOf(schema["required"])
	if _, ok := properties["spec"]; ok {
		required = append(required, "spec")
	}
	w.fields(properties, required, "", 0)
	return w.b.String(), nil
}

type skeletonWriter struct {
	schemas schemas
	b       strings.Builder
}

// fields writes the fields of an object, the required ones first.
func (w *skeletonWriter) fields(properties map[string]any, required []string, indent string, depth int) {
	names := slices.Sorted(maps.Keys(properties))
	for _, optional := range []bool{false, true} {
		for _, name := range names {
			if slices.Contains(required, name) == optional {
				continue
			}
			schema := w.schemas.resolved(asMap(properties[name]))
			if said := explained(schema); said != "" {
				w.b.WriteString(indent + "# " + said + "\n")
			}
			if optional {
				w.b.WriteString(indent + "# " + name + ": " + flow(w.value(schema, depth)) + "\n")
				continue
			}
			w.field(name, schema, indent, depth)
		}
	}
}

// field writes a required field.
func (w *skeletonWriter) field(name string, schema map[string]any, indent string, depth int) {
	properties := asMap(schema["properties"])
	required := textsOf(schema["required"])
	if len(required) == 0 && depth == 0 {
		required = scalars(w.schemas, properties) // there must be something to fill in
	}
	if _, preset := schema["default"]; len(required) == 0 || len(properties) == 0 || depth >= maxNesting || preset && depth > 0 {
		w.b.WriteString(indent + name + ": " + flow(w.value(schema, depth)) + "\n")
		return
	}
	w.b.WriteString(indent + name + ":\n")
	w.fields(properties, required, indent+"  ", depth+1)
}

// value returns the default of a schema, or the least value that it allows.
func (w *skeletonWriter) value(schema map[string]any, depth int) any {
	if value, ok := schema["default"]; ok {
		return value
	}
	if values, _ := schema["enum"].([]any); len(values) > 0 {
		return values[0]
	}
	switch schema["type"] {
	case "string":
		return ""
	case "integer", "number":
		if least, ok := schema["minimum"]; ok {
			return least
		}
		return 0
	case "boolean":
		return false
	case "array":
		if least, _ := schema["minItems"].(float64); least > 0 && depth < maxNesting {
			return []any{w.value(w.schemas.resolved(asMap(schema["items"])), depth+1)}
		}
		return []any{}
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return 0
	}
	object := map[string]any{}
	properties := asMap(schema["properties"])
	if depth < maxNesting {
		for _, name := range textsOf(schema["required"]) {
			object[name] = w.value(w.schemas.resolved(asMap(properties[name])), depth+1)
		}
	}
	return object
}

// scalars returns the names of the fields that are texts, numbers or booleans, of any value.
func scalars(s schemas, properties map[string]any) []string {
	var names []string
	for name, schema := range properties {
		switch schema := s.resolved(asMap(schema)); schema["type"] {
		case "string", "integer", "number", "boolean":
			if schema["pattern"] == nil && schema["format"] != "date-time" {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxExplanation is the length at which descriptions are cut: a skeleton is not the documentation.
const maxExplanation = 100

// explained returns a line with the purpose and the permitted values of a field.
func explained(schema map[string]any) string {
	description, _ := schema["description"].(string)
	said := strings.Join(strings.Fields(description), " ")
	if first, _, ok := strings.Cut(said, ". "); ok {
		said = first + "."
	}
	if short := []rune(said); len(short) > maxExplanation {
		said = string(short[:maxExplanation-1]) + "…"
	}
	var limits []string
	if values, _ := schema["enum"].([]any); len(values) > 0 {
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = flow(value)
		}
		limits = append(limits, "one of "+strings.Join(texts, ", "))
	}
	for _, limit := range []struct{ key, words string }{
		{"minimum", "at least "}, {"maximum", "at most "}, {"minLength", "length at least "}, {"maxLength", "length at most "}, {"pattern", "pattern "},
	} {
		if value, ok := schema[limit.key]; ok {
			limits = append(limits, limit.words+strings.Trim(flow(value), `"`))
		}
	}
	if len(limits) > 0 {
		said = strings.TrimSpace(said + " (" + strings.Join(limits, "; ") + ")")
	}
	return printable.Line(said)
}

// flow returns a value in a line, which is YAML, too.
func flow(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(value))
	}
	return string(out)
}

// textsOf returns the texts of a list.
func textsOf(value any) []string {
	list, _ := value.([]any)
	var all []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}
