package state

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// DiffBaseStorage stores the essence of objects as last handled. It is safe for concurrent use.
type DiffBaseStorage interface {
	// Essence returns the part of an object whose changes count, with the extra fields that handlers ask
	// for, and without what the storage itself stores there. It may share values with the object.
	Essence(object map[string]any, extra []object.Path) map[string]any

	// Fetch returns the essence of an object as last handled; nil if there is none.
	Fetch(object map[string]any) (map[string]any, error)

	// Store adds an essence to the patch as the last-handled one. The raw JSON of the object and the
	// extra fields determine the order of the keys in the text. They may be nil: then the text is
	// sorted, and means the same.
	Store(object map[string]any, raw []byte, essence map[string]any, extra []object.Path, p *patch.Patch) error
}

// brokenDiffBaseError is the error of a stored essence that cannot be decoded.
type brokenDiffBaseError struct {
	Where string // annotation or field
	Err   error  // error of the decoding
}

// Error implements the error interface.
func (e *brokenDiffBaseError) Error() string {
	return fmt.Sprintf("read the last-handled configuration in %s: %v; fix or remove it", e.Where, e.Err)
}

// Unwrap returns the error of the decoding.
func (e *brokenDiffBaseError) Unwrap() error { return e.Err }

// decodeEssence decodes a stored essence. The text "null" means none.
func decodeEssence(where string, stored any) (map[string]any, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, &brokenDiffBaseError{Where: where, Err: fmt.Errorf("want text, got %T", stored)}
	}
	v, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return nil, &brokenDiffBaseError{Where: where, Err: err}
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &brokenDiffBaseError{Where: where, Err: fmt.Errorf("want a map, got %T", v)}
	}
	return m, nil
}

// StatusDiffBase stores the essence as text in a field, usually of the status.
type StatusDiffBase struct {
	Field   object.Path   // path of the text
	Ignored []object.Path // fields that are excluded from the essence
}

// Essence implements [DiffBaseStorage].
func (s *StatusDiffBase) Essence(obj map[string]any, extra []object.Path) map[string]any {
	return object.Without(BuildEssence(obj, extra, s.Ignored), s.Field)
}

// Fetch implements [DiffBaseStorage].
func (s *StatusDiffBase) Fetch(obj map[string]any) (map[string]any, error) {
	stored, ok := object.Lookup(obj, s.Field)
	if !ok || stored == nil {
		return nil, nil
	}
	return decodeEssence(s.Field.String(), stored)
}

// Store implements [DiffBaseStorage].
func (s *StatusDiffBase) Store(_ map[string]any, raw []byte, last map[string]any, extra []object.Path, p *patch.Patch) error {
	text, err := essenceText(last, raw, extra)
	if err != nil {
		return fmt.Errorf("store the last-handled configuration: %w", err)
	}
	p.Set(s.Field, string(text))
	return nil
}

// MultiDiffBase stores the essence in several storages, for moving from one to another: it writes to
// all of them, and reads from the first one that has an essence.
type MultiDiffBase []DiffBaseStorage

// Essence implements [DiffBaseStorage]. Each storage removes what it stores.
func (m MultiDiffBase) Essence(object map[string]any, extra []object.Path) map[string]any {
	out := BuildEssence(object, extra, nil)
	for _, storage := range m {
		out = storage.Essence(out, extra)
	}
	return out
}

// Fetch implements [DiffBaseStorage].
func (m MultiDiffBase) Fetch(object map[string]any) (map[string]any, error) {
	for _, storage := range m {
		last, err := storage.Fetch(object)
		if last != nil || err != nil {
			return last, err
		}
	}
	return nil, nil
}

// Store implements [DiffBaseStorage].
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
	return withoutAnnotations(e, func(key string) bool { return slices.Contains(keys, key) })
}
