package redact

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Secrets hides the values of one object. It is safe for concurrent use. The methods of nil return what they
// are given.
type Secrets struct {
	paths []object.Path
	raw   []byte // of the object; nil if there is none

	once  sync.Once
	known []string // the hidden values of the object
}

// Value returns a copy of the value of a field without what is hidden in it. The keys of maps remain, except for
// those of managed fields that have values of list items.
func (s *Secrets) Value(path object.Path, value any) any {
	if s == nil {
		return value
	}
	if s.covers(path) {
		return hidden(value)
	}
	if path.HasPrefix(managedFields) {
		value = withoutItems(value)
	}
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return value
		}
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = s.Value(path.Child(key), child)
		}
		return out
	case []any:
		if v == nil {
			return value
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.Value(path, item)
		}
		return out
	case string:
		if nested := objectIn(v); nested != nil {
			if text, err := object.AppendJSON(nil, s.Value(nil, nested), nil); err == nil {
				return string(text)
			}
			return Mark
		}
	}
	return value
}

// objectIn returns the object in a text, such as in the annotations of what was applied or handled last; nil
// if there is none.
func objectIn(text string) map[string]any {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil
	}
	decoded, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return nil
	}
	tree, _ := decoded.(map[string]any)
	return tree
}

// hidden returns marks in place of all values but null.
func hidden(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = hidden(child)
		}
		return out
	}
	return Mark
}

// Diff returns a diff without hidden values.
func (s *Secrets) Diff(d object.Diff) object.Diff {
	if s == nil {
		return d
	}
	out := make(object.Diff, len(d))
	for i, item := range d {
		item.Old, item.New = s.Value(item.Path, item.Old), s.Value(item.Path, item.New)
		out[i] = item
	}
	return out
}

// Payload returns the body of a PATCH request without hidden values.
func (s *Secrets) Payload(body any) any {
	if s == nil {
		return body
	}
	ops, ok := body.([]patch.Op)
	if !ok {
		return s.Value(nil, plain(body))
	}
	out := make([]patch.Op, len(ops))
	for i, op := range ops {
		op.Value = plain(op.Value)
		for _, path := range s.at(op.Path) {
			op.Value = s.Value(path, op.Value)
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
