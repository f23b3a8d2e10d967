package state

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// MultiDiffBase stores the essence in several storages, for a migration: it writes to all storages, and reads from
// the first storage with an essence.
type MultiDiffBase []DiffBaseStorage

// Essence implements [DiffBaseStorage]. Each storage removes its own records.
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
