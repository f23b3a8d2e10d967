package state

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Storage keeps the last handled essence of objects.
type DiffBaseStorage interface {
	// Essence returns what matters of an object for detecting changes, with the extra
	// fields that handlers ask for, and without what the storage itself keeps there. It
	// may share values with the object.
	Essence(object map[string]any, extra []object.Path) map[string]any

	// Fetch returns the last handled essence of an object; nil if there is none.
	Fetch(object map[string]any) (map[string]any, error)

	// Store adds the essence to the patch as the last handled one. The raw JSON of the
	// object and the extra fields of the essence tell the order of the keys. Without
	// them, it is the same essence for every reader, but not the same text.
	Store(object map[string]any, raw []byte, essence map[string]any, extra []object.Path, p *patch.Patch) error
}

// BrokenError says that what is kept as the last handled essence is not readable.
type BrokenDiffBaseError struct {
	Where string // the annotation or the field
	Err   error  // what is wrong with its text
}

// Error implements error.
func (e *BrokenDiffBaseError) Error() string {
	return fmt.Sprintf("the last handled configuration in %s is broken: %v", e.Where, e.Err)
}

// Unwrap returns what is wrong with the text.
func (e *BrokenDiffBaseError) Unwrap() error { return e.Err }

// decode reads a stored essence. The text "null" is none.
func decodeEssence(where string, stored any) (map[string]any, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, &BrokenDiffBaseError{Where: where, Err: fmt.Errorf("%T in place of a text", stored)}
	}
	v, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return nil, &BrokenDiffBaseError{Where: where, Err: err}
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &BrokenDiffBaseError{Where: where, Err: fmt.Errorf("%T in place of a map", v)}
	}
	return m, nil
}

// Status keeps the essence as a text in a field, usually of the status.
type StatusDiffBase struct {
	Field   object.Path   // where the text is
	Ignored []object.Path // fields that are no part of any essence
}

// NewStatus returns the storage in status.kopf.last-handled-configuration.
func NewStatusDiffBase() *StatusDiffBase {
	return &StatusDiffBase{Field: object.Path{"status", "kopf", "last-handled-configuration"}}
}

// Essence implements [Storage].
func (s *StatusDiffBase) Essence(obj map[string]any, extra []object.Path) map[string]any {
	return object.Without(BuildEssence(obj, extra, s.Ignored), s.Field)
}

// Fetch implements [Storage].
func (s *StatusDiffBase) Fetch(obj map[string]any) (map[string]any, error) {
	stored, ok := object.Lookup(obj, s.Field)
	if !ok || stored == nil {
		return nil, nil
	}
	return decodeEssence(s.Field.String(), stored)
}

// Store implements [Storage].
func (s *StatusDiffBase) Store(_ map[string]any, raw []byte, last map[string]any, extra []object.Path, p *patch.Patch) error {
	text, err := EssenceText(last, raw, extra)
	if err != nil {
		return fmt.Errorf("storing the last handled configuration: %w", err)
	}
	p.Set(s.Field, string(text))
	return nil
}

// Multi keeps the essence in several storages, for moving from one to another: it is
// written to all of them, and read from the first one that has it.
type MultiDiffBase []DiffBaseStorage

// Essence implements [Storage]: each storage takes out what it keeps.
func (m MultiDiffBase) Essence(object map[string]any, extra []object.Path) map[string]any {
	out := BuildEssence(object, extra, nil)
	for _, storage := range m {
		out = storage.Essence(out, extra)
	}
	return out
}

// Fetch implements [Storage].
func (m MultiDiffBase) Fetch(object map[string]any) (map[string]any, error) {
	for _, storage := range m {
		last, err := storage.Fetch(object)
		if last != nil || err != nil {
			return last, err
		}
	}
	return nil, nil
}

// Store implements [Storage].
func (m MultiDiffBase) Store(object map[string]any, raw []byte, last map[string]any, extra []object.Path, p *patch.Patch) error {
	for _, storage := range m {
		if err := storage.Store(object, raw, last, extra, p); err != nil {
			return err
		}
	}
	return nil
}

// withoutKeys returns the essence without some annotations.
func withoutKeys(e map[string]any, keys []string) map[string]any {
	if object.Annotations(e) == nil {
		return e
	}
	return WithoutAnnotations(e, func(key string) bool { return slices.Contains(keys, key) })
}
