package redact

import (
	"encoding/json"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Secrets hides the values of one object. It is safe for concurrent use. The methods of a nil Secrets return their
// argument.
type Secrets struct {
	paths  []object.Path
	hidden *printable.Secrets
}

// newSecrets returns a Secrets for fields. The function returns the versions of the object whose values are known.
func newSecrets(paths []object.Path, versions func() []any) *Secrets {
	fields := make([][]string, len(paths))
	for i, path := range paths {
		fields[i] = path
	}
	return &Secrets{paths: paths, hidden: printable.NewSecrets(fields, versions)}
}

// Value returns a copy of the value of a field without its hidden values. The keys of maps remain, except for keys in
// managed fields that contain values of list items.
func (s *Secrets) Value(path object.Path, value any) any {
	if s == nil {
		return value
	}
	return s.hidden.Value(path, value)
}

// Diff returns a diff without hidden values.
func (s *Secrets) Diff(d object.Diff) object.Diff {
	if s == nil {
		return d
	}
	var known []string
	for _, item := range d {
		known = append(known, s.hidden.Find(item.Path, item.Old)...)
		known = append(known, s.hidden.Find(item.Path, item.New)...)
	}
	out := make(object.Diff, len(d))
	for i, item := range d {
		item.Old, item.New = s.hidden.Value(item.Path, item.Old, known...), s.hidden.Value(item.Path, item.New, known...)
		out[i] = item
	}
	return out
}

// Payload returns the body of a PATCH request without hidden values.
func (s *Secrets) Payload(body any) any {
	if s == nil {
		return body
	}
	known := s.find(body)
	ops, ok := body.([]patch.Op)
	if !ok {
		return s.hidden.Value(nil, plain(body), known...)
	}
	out := make([]patch.Op, len(ops))
	for i, op := range ops {
		op.Value = plain(op.Value)
		for _, path := range s.at(op.Path) {
			op.Value = s.hidden.Value(path, op.Value, known...)
		}
		out[i] = op
	}
	return out
}

// Mismatch returns a mismatch without hidden values.
func (s *Secrets) Mismatch(m handlers.Mismatch) handlers.Mismatch {
	if s == nil {
		return m
	}
	var path object.Path
	switch m.Kind {
	case handlers.MismatchLabel:
		path = object.Path{"metadata", "labels", m.Path}
	case handlers.MismatchAnnotation:
		path = object.Path{"metadata", "annotations", m.Path}
	case handlers.MismatchField, handlers.MismatchValue, handlers.MismatchOld, handlers.MismatchNew:
		var err error
		if path, err = object.ParsePath(m.Path); err != nil {
			path = nil // the whole object, in which everything hidden is
		}
	default:
		return m
	}
	if !s.contains(path) {
		m.Is = s.Text(m.Is)
		return m
	}
	if !m.Absent {
		m.Is = Mark
	}
	switch m.Wants {
	case handlers.WantsPresent, handlers.WantsAbsent, handlers.WantsChanged:
	default:
		m.Wants = Mark
	}
	return m
}

// plain returns a body of a request as a tree: it may have any type of Go in it.
func plain(body any) any {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	tree, err := object.DecodeJSON(raw)
	if err != nil {
		return nil
	}
	return tree
}
