// Package diffbase keeps the last handled essence of objects on the objects themselves,
// to tell what has changed since.
package diffbase

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/essence"
	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/pyjson"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
)

// Storage keeps the last handled essence of objects.
type Storage interface {
	// Essence returns what matters of an object for detecting changes, with the extra
	// fields that handlers ask for, and without what the storage itself keeps there. It
	// may share values with the object.
	Essence(object map[string]any, extra []fieldpath.Path) map[string]any

	// Fetch returns the last handled essence of an object; nil if there is none.
	Fetch(object map[string]any) (map[string]any, error)

	// Store adds the essence to the patch as the last handled one. The raw JSON of the
	// object and the extra fields of the essence tell the order of the keys. Without
	// them, it is the same essence for every reader, but not the same text.
	Store(object map[string]any, raw []byte, essence map[string]any, extra []fieldpath.Path, p *patch.Patch) error
}

// BrokenError says that what is kept as the last handled essence is not readable.
type BrokenError struct {
	Where string // the annotation or the field
	Err   error  // what is wrong with its text
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("the last handled configuration in %s is broken: %v", e.Where, e.Err)
}

// Unwrap returns what is wrong with the text.
func (e *BrokenError) Unwrap() error { return e.Err }

// decode reads a stored essence. The text "null" is none.
func decode(where string, stored any) (map[string]any, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, &BrokenError{Where: where, Err: fmt.Errorf("%T in place of a text", stored)}
	}
	v, err := pyjson.Unmarshal([]byte(text))
	if err != nil {
		return nil, &BrokenError{Where: where, Err: err}
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &BrokenError{Where: where, Err: fmt.Errorf("%T in place of a map", v)}
	}
	return m, nil
}

// Status keeps the essence as a text in a field, usually of the status.
type Status struct {
	Field   fieldpath.Path   // where the text is
	Ignored []fieldpath.Path // fields that are no part of any essence
}

// NewStatus returns the storage in status.kopf.last-handled-configuration.
func NewStatus() *Status {
	return &Status{Field: fieldpath.Path{"status", "kopf", "last-handled-configuration"}}
}

// Essence implements [Storage].
func (s *Status) Essence(object map[string]any, extra []fieldpath.Path) map[string]any {
	return fieldpath.Without(essence.Build(object, extra, s.Ignored), s.Field)
}

// Fetch implements [Storage].
func (s *Status) Fetch(object map[string]any) (map[string]any, error) {
	stored, ok := fieldpath.Lookup(object, s.Field)
	if !ok || stored == nil {
		return nil, nil
	}
	return decode(s.Field.String(), stored)
}

// Store implements [Storage].
func (s *Status) Store(_ map[string]any, raw []byte, last map[string]any, extra []fieldpath.Path, p *patch.Patch) error {
	text, err := essence.Text(last, raw, extra)
	if err != nil {
		return fmt.Errorf("storing the last handled configuration: %w", err)
	}
	p.Set(s.Field, string(text))
	return nil
}

// Multi keeps the essence in several storages, for moving from one to another: it is
// written to all of them, and read from the first one that has it.
type Multi []Storage

// Essence implements [Storage]: each storage takes out what it keeps.
func (m Multi) Essence(object map[string]any, extra []fieldpath.Path) map[string]any {
	out := essence.Build(object, extra, nil)
	for _, storage := range m {
		out = storage.Essence(out, extra)
	}
	return out
}

// Fetch implements [Storage].
func (m Multi) Fetch(object map[string]any) (map[string]any, error) {
	for _, storage := range m {
		last, err := storage.Fetch(object)
		if last != nil || err != nil {
			return last, err
		}
	}
	return nil, nil
}

// Store implements [Storage].
func (m Multi) Store(object map[string]any, raw []byte, last map[string]any, extra []fieldpath.Path, p *patch.Patch) error {
	for _, storage := range m {
		if err := storage.Store(object, raw, last, extra, p); err != nil {
			return err
		}
	}
	return nil
}

// withoutKeys returns the essence without some annotations.
func withoutKeys(e map[string]any, keys []string) map[string]any {
	if tree.Annotations(e) == nil {
		return e
	}
	return essence.WithoutAnnotations(e, func(key string) bool { return slices.Contains(keys, key) })
}
