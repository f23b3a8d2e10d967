package schema

import "slices"

// Field is a field of a kind, as the schema describes it.
type Field struct {
	Declared bool     // the API server keeps the field
	MapKeys  []string // keys of the items of a list that is merged by item; empty for other lists
}

// Field returns the field at a path. A value whose schema names no fields keeps all of them.
func (s *Schema) Field(path ...string) Field {
	n := s.root
	for _, name := range path {
		v := s.document.view(n)
		if n = v.properties[name]; n == nil {
			n = v.values
		}
		if n == nil {
			return Field{Declared: v.open}
		}
	}
	f := Field{Declared: true}
	for _, part := range s.document.resolve(n, 0) {
		if part.ListType == "map" {
			f.MapKeys = slices.Clone(part.MapKeys)
		}
	}
	return f
}
