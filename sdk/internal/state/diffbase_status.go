package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// StatusDiffBase stores the essence as a JSON string in a field, usually of the status.
type StatusDiffBase struct {
	Field   object.Path   // path of the string
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
	last, err := decodeEssence(stored)
	if err != nil {
		return nil, brokenField(lastHandled, s.Field, err)
	}
	return last, nil
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
