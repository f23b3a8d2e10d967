package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// DiffBaseForgetter is implemented by diff base storages that can remove the diff base of an object, as all built-in storages can.
type DiffBaseForgetter interface {
	// Forget removes the last-handled essence from the object through the patch.
	Forget(object map[string]any, p *patch.Patch) error
}

// ForgetLastHandled removes the last-handled essence from an object through the patch, so that the object counts as never
// handled. It returns an error if the storage does not implement [DiffBaseForgetter].
func ForgetLastHandled(storage DiffBaseStorage, object map[string]any, p *patch.Patch) error {
	s, ok := storage.(DiffBaseForgetter)
	if !ok {
		return fmt.Errorf("the storage of the last-handled configuration, %T, has no method Forget", storage)
	}
	return s.Forget(object, p)
}

// Forget implements [DiffBaseForgetter].
func (s *AnnotationsDiffBase) Forget(obj map[string]any, p *patch.Patch) error {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(obj) {
		if _, ok := annotations[key]; ok {
			p.Remove(annotation(key))
		}
	}
	return nil
}

// Forget implements [DiffBaseForgetter].
func (s *StatusDiffBase) Forget(obj map[string]any, p *patch.Patch) error {
	if _, ok := object.Lookup(obj, s.Field); ok {
		p.Remove(s.Field)
	}
	return nil
}

// Forget implements [DiffBaseForgetter].
func (m MultiDiffBase) Forget(obj map[string]any, p *patch.Patch) error {
	for _, storage := range m {
		if err := ForgetLastHandled(storage, obj, p); err != nil {
			return err
		}
	}
	return nil
}
