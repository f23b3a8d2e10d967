package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// ProgressStorage stores the records of handlers. Built-in storages read the records from the object and write them to the
// object's patch. It is safe for concurrent use.
type ProgressStorage interface {
	// Fetch returns the record of a handler; nil if there is none.
	Fetch(object map[string]any, id string) (*Record, error)

	// Store adds the record of a handler to the patch.
	Store(object map[string]any, id string, r Record, p *patch.Patch) error

	// Purge removes the record of a handler from the object through the patch. A record that is only in the patch is removed
	// from the patch.
	Purge(object map[string]any, id string, p *patch.Patch) error

	// Touch changes the object in a way that only causes a watch event. The empty value undoes it.
	Touch(object map[string]any, value string, p *patch.Patch) error

	// Clear returns the essence without the storage's own records. If it has none, Clear returns the essence itself.
	Clear(essence map[string]any) map[string]any
}

// StatusProgress stores the records in a field of the object, usually of its status.
type StatusProgress struct {
	Field      object.Path // path of a map with the records by the ids of handlers
	TouchField object.Path // path of the field that a touch changes

	// ReadOnly storages read and purge records, but write none. They are used for the transition to another storage.
	ReadOnly bool
}

// newStatusProgress returns the storage in the field status.<name>.progress. The name defaults to "kopf".
func newStatusProgress(name string) *StatusProgress {
	if name == "" {
		name = "kopf"
	}
	return &StatusProgress{
		Field:      object.Path{"status", name, "progress"},
		TouchField: object.Path{"status", name, "dummy"},
	}
}

// Fetch implements [ProgressStorage]. It ignores values that are not maps, because other programs may write to the field.
func (s *StatusProgress) Fetch(obj map[string]any, id string) (*Record, error) {
	container, _ := object.Lookup(obj, s.Field)
	records, _ := container.(map[string]any)
	fields, ok := records[id].(map[string]any)
	if !ok {
		return nil, nil
	}
	r, err := parseRecord(fields)
	if err != nil {
		return nil, brokenField(progressOf(id), s.Field.Child(id), err)
	}
	return r, nil
}

// Store implements [ProgressStorage].
func (s *StatusProgress) Store(_ map[string]any, id string, r Record, p *patch.Patch) error {
	if !s.ReadOnly {
		p.Set(s.Field.Child(id), r.tree())
	}
	return nil
}

// Purge implements [ProgressStorage].
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

// Touch implements [ProgressStorage].
func (s *StatusProgress) Touch(obj map[string]any, value string, p *patch.Patch) error {
	if s.ReadOnly {
		return nil
	}
	current, ok := object.Lookup(obj, s.TouchField)
	touch(current, ok, value, s.TouchField, p)
	return nil
}

// Clear implements [ProgressStorage].
func (s *StatusProgress) Clear(e map[string]any) map[string]any {
	return WithoutEmpty(object.Without(e, s.Field))
}

// MultiProgress stores the records in several storages, for a migration: it writes to all storages, and reads from
// the first storage with a record.
type MultiProgress []ProgressStorage

// NewSmartProgress returns the default storage: annotations. It also reads and purges records of older operators in the
// status.
func NewSmartProgress() MultiProgress {
	status := newStatusProgress("")
	status.ReadOnly = true
	return MultiProgress{newAnnotationsProgress(), status}
}

// Fetch implements [ProgressStorage].
func (m MultiProgress) Fetch(object map[string]any, id string) (*Record, error) {
	for _, storage := range m {
		r, err := storage.Fetch(object, id)
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// Store implements [ProgressStorage].
func (m MultiProgress) Store(object map[string]any, id string, r Record, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Store(object, id, r, p) })
}

// Purge implements [ProgressStorage].
func (m MultiProgress) Purge(object map[string]any, id string, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Purge(object, id, p) })
}

// Touch implements [ProgressStorage].
func (m MultiProgress) Touch(object map[string]any, value string, p *patch.Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Touch(object, value, p) })
}

// Clear implements [ProgressStorage].
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

// touch sets or removes a value, and reports whether the patch changes anything.
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
