package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Storage keeps the records of handlers on objects. It reads them from the object and
// writes them to a patch of it.
type ProgressStorage interface {
	// Fetch returns the record of a handler; nil if there is none.
	Fetch(object map[string]any, id string) (*Record, error)

	// Store adds the record of a handler to the patch.
	Store(object map[string]any, id string, r Record, p *patch.Patch) error

	// Purge removes the record of a handler: from the object through the patch, or from
	// the patch if it is only there.
	Purge(object map[string]any, id string, p *patch.Patch) error

	// Touch makes the object change, so that it is seen again, by a value that nobody
	// needs. The empty value removes it, if it is there.
	Touch(object map[string]any, value string, p *patch.Patch) error

	// Clear returns the essence of an object without what the storage keeps there. Where
	// nothing changes, it returns the essence itself.
	Clear(essence map[string]any) map[string]any
}

// Status keeps the records in a field of the object, usually of its status.
type StatusProgress struct {
	Field      object.Path // the map with the records, by the ids of the handlers
	TouchField object.Path // the field that is changed by a touch

	// ReadOnly storages find and purge records, but write none: for the transition from
	// this storage to another one.
	ReadOnly bool
}

// NewStatus returns the storage in status.kopf, or in another field of the status.
func NewStatusProgress(name string) *StatusProgress {
	if name == "" {
		name = "kopf"
	}
	return &StatusProgress{
		Field:      object.Path{"status", name, "progress"},
		TouchField: object.Path{"status", name, "dummy"},
	}
}

// Fetch implements [Storage]. Whatever else is in the place of the records is nobody's
// record: the field is not protected from other uses.
func (s *StatusProgress) Fetch(obj map[string]any, id string) (*Record, error) {
	container, _ := object.Lookup(obj, s.Field)
	records, _ := container.(map[string]any)
	fields, ok := records[id].(map[string]any)
	if !ok {
		return nil, nil
	}
	r, err := parseRecord(fields)
	if err != nil {
		return nil, &BrokenProgressError{ID: id, Where: s.Field.String(), Err: err}
	}
	return r, nil
}

// Store implements [Storage].
func (s *StatusProgress) Store(_ map[string]any, id string, r Record, p *patch.Patch) error {
	if !s.ReadOnly {
		p.Set(s.Field.Child(id), r.tree())
	}
	return nil
}

// Purge implements [Storage].
func (s *StatusProgress) Purge(obj map[string]any, id string, p *patch.Patch) error {
	container, _ := object.Lookup(obj, s.Field)
	records, _ := container.(map[string]any)
	if _, ok := records[id]; ok {
		p.Remove(s.Field.Child(id))
	} else {
		p.Discard(s.Field.Child(id))
	}
	return nil
}

// Touch implements [Storage].
func (s *StatusProgress) Touch(obj map[string]any, value string, p *patch.Patch) error {
	if s.ReadOnly {
		return nil
	}
	current, ok := object.Lookup(obj, s.TouchField)
	touch(current, ok, value, s.TouchField, p)
	return nil
}

// Clear implements [Storage].
func (s *StatusProgress) Clear(e map[string]any) map[string]any {
	return WithoutEmpty(object.Without(e, s.Field))
}

// Multi keeps the records in several storages, for moving from one to another: they
// are written to all of them, and read from the first one that has them.
type MultiProgress []ProgressStorage

// NewSmart returns the default storage: annotations, and for records of operators
// from before their time, the status, which is read and purged but not written.
func NewSmartProgress() MultiProgress {
	status := NewStatusProgress("")
	status.ReadOnly = true
	return MultiProgress{NewAnnotationsProgress(), status}
}

// Fetch implements [Storage].
func (m MultiProgress) Fetch(object map[string]any, id string) (*Record, error) {
	for _, storage := range m {
		r, err := storage.Fetch(object, id)
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// Store implements [Storage].
func (m MultiProgress) Store(object map[string]any, id string, r Record, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Store(object, id, r, p) })
}

// Purge implements [Storage].
func (m MultiProgress) Purge(object map[string]any, id string, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Purge(object, id, p) })
}

// Touch implements [Storage].
func (m MultiProgress) Touch(object map[string]any, value string, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Touch(object, value, p) })
}

// Clear implements [Storage].
func (m MultiProgress) Clear(e map[string]any) map[string]any {
	for _, storage := range m {
		e = storage.Clear(e)
	}
	return e
}

func (m MultiProgress) each(do func(ProgressStorage) error) error {
	for i, storage := range m {
		if err := do(storage); err != nil {
			return fmt.Errorf("progress storage %d of %d: %w", i+1, len(m), err)
		}
	}
	return nil
}

// touch sets or removes a value, and tells if it had to.
func touch(current any, exists bool, value string, path object.Path, p *patch.Patch) bool {
	switch {
	case value == "" && exists && current != nil:
		p.Remove(path)
	case value != "" && current != value:
		p.Set(path, value)
	default:
		return false
	}
	return true
}
