package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Unknown returns the paths of the fields that a Go type has and the schema has not, such as "spec.siez", sorted.
// Elements of lists are written as "spec.items[].siez", values of maps as "spec.parts.*.siez". Types with their own
// UnmarshalJSON are skipped. The path leads to the value that decodes into the type: empty for the whole object.
func (s *Schema) Unknown(t reflect.Type, path ...string) []string {
	n := s.root
	for _, name := range path {
		v := s.document.view(n)
		if n = v.properties[name]; n == nil {
			if n = v.values; n == nil {
				if v.open {
					return nil
				}
				return []string{strings.Join(path, ".")}
			}
		}
	}
	c := comparison{document: s.document}
	c.compare(t, n, strings.Join(path, "."))
	slices.Sort(c.unknown)
	return slices.Compact(c.unknown)
}

type comparison struct {
	document *Document
	inside   []reflect.Type // the types on the way to the present one
	unknown  []string
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (c *comparison) compare(t reflect.Type, n *node, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pointer := reflect.PointerTo(t)
	if pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler) || slices.Contains(c.inside, t) {
		return
	}
	c.inside = append(c.inside, t)
	defer func() { c.inside = c.inside[:len(c.inside)-1] }()
	v := c.document.view(n)
	switch t.Kind() {
	case reflect.Struct:
		c.compareFields(t, v, path)
	case reflect.Slice, reflect.Array:
		if v.items != nil {
			c.compare(t.Elem(), v.items, path+"[]")
		}
	case reflect.Map:
		if v.values != nil {
			c.compare(t.Elem(), v.values, join(path, "*"))
		}
	default: // it has no fields
	}
}

func (c *comparison) compareFields(t reflect.Type, v view, path string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Tag.Get("json") == "-":
			continue
		case field.Anonymous && name == "" && isStruct(field.Type):
			c.compareFields(structOf(field.Type), v, path)
			continue
		case !field.IsExported():
			continue
		case name == "":
			name = field.Name
		}
		property := v.properties[name]
		if property == nil {
			property = v.values
		}
		switch {
		case property != nil:
			c.compare(field.Type, property, join(path, name))
		case !v.open && !isTypeMeta(path, name):
			c.unknown = append(c.unknown, join(path, name))
		}
	}
}

// isTypeMeta reports whether a field is one that each object has, whatever its schema says.
func isTypeMeta(path, name string) bool {
	return path == "" && (name == "apiVersion" || name == "kind" || name == "metadata")
}

func isStruct(t reflect.Type) bool { return structOf(t).Kind() == reflect.Struct }

func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
