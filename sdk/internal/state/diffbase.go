package state

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// DiffBaseStorage stores the last-handled essence of objects. It is safe for concurrent use.
type DiffBaseStorage interface {
	// Essence returns the part of an object whose changes cause updates, with the extra fields that handlers need, and
	// without the storage's own records. It may share values with the object.
	Essence(object map[string]any, extra []object.Path) map[string]any

	// Fetch returns the last-handled essence of an object; nil if the object was never handled.
	Fetch(object map[string]any) (map[string]any, error)

	// Store adds an essence to the patch as the last-handled essence. The raw JSON of the object and the extra fields
	// determine the order of the keys in the stored JSON. If they are nil, the keys are sorted.
	Store(object map[string]any, raw []byte, essence map[string]any, extra []object.Path, p *patch.Patch) error
}

// lastHandled is the name of the diff base in errors.
const lastHandled = "the last-handled configuration"

// decodeEssence decodes a stored essence. It returns nil for "null".
func decodeEssence(stored any) (map[string]any, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, fmt.Errorf("want a string, got %T", stored)
	}
	v, err := object.DecodeJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a map, got %T", v)
	}
	// Python can write NaN, which JSON does not have, so handlers could not decode their old state.
	if err := object.CheckTree(m); err != nil {
		return nil, err
	}
	return m, nil
}

// withoutKeys returns the essence without some annotations.
func withoutKeys(e map[string]any, keys []string) map[string]any {
	if object.Annotations(e) == nil {
		return e
	}
	return withoutAnnotations(e, func(key string) bool { return slices.Contains(keys, key) })
}
