package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Annotations returns a storage of progress in annotations, one for each handler.
func Annotations(names AnnotationNames) kopf.ProgressStorage {
	return progress{names.engine()}
}

// Status returns a storage of progress in the status. It panics if a field is malformed.
func Status(fields StatusFields) kopf.ProgressStorage { return progress{fields.engine()} }

// Smart returns the default storage of progress. It stores progress in annotations. It also reads and removes records that
// older operators stored in the status. It panics if a field is malformed.
func Smart(names AnnotationNames, fields StatusFields) kopf.ProgressStorage {
	status := fields.engine()
	status.ReadOnly = true
	return progress{state.MultiProgress{names.engine(), status}}
}

// Multi returns a storage of progress that writes to all storages, and reads from the first that has a record. It
// serves to migrate from one storage to another.
func Multi(storages ...kopf.ProgressStorage) kopf.ProgressStorage { return multiProgress(storages) }

func (n AnnotationNames) engine() *state.AnnotationsProgress {
	return &state.AnnotationsProgress{
		Prefix:   cmp.Or(n.Prefix, defaultPrefix),
		TouchKey: cmp.Or(n.TouchKey, defaultTouchKey),
		V1:       !n.NoV1,
		Verbose:  n.Verbose,
	}
}

func (f StatusFields) engine() *state.StatusProgress {
	return &state.StatusProgress{
		Field:      fieldPath(f.Field, f.Name, "status.{name}.progress"),
		TouchField: fieldPath(f.TouchField, f.Name, "status.{name}.dummy"),
	}
}

// progress adapts a storage of the engine.
type progress struct{ storage state.ProgressStorage }

// Engine implements [bridge.Progress].
func (s progress) Engine(func(any) state.ProgressStorage) state.ProgressStorage { return s.storage }

// Fetch implements [kopf.ProgressStorage].
func (s progress) Fetch(_ context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	r, err := s.storage.Fetch(treeOf(body), id)
	if r == nil || err != nil {
		return nil, err
	}
	return &kopf.ProgressRecord{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: kopf.Reason(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}, nil
}

// Store implements [kopf.ProgressStorage].
func (s progress) Store(_ context.Context, body *kopf.Object, id string, r *kopf.ProgressRecord, patch *kopf.Patch) error {
	record := state.Record{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: string(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}
	return s.storage.Store(treeOf(body), id, record, bridge.PatchOf(patch))
}

// Purge implements [kopf.ProgressStorage].
func (s progress) Purge(_ context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return s.storage.Purge(treeOf(body), id, bridge.PatchOf(patch))
}

// Touch implements [kopf.ProgressStorage].
func (s progress) Touch(_ context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return s.storage.Touch(treeOf(body), value, bridge.PatchOf(patch))
}

// Clean implements [kopf.ProgressStorage].
func (s progress) Clean(essence map[string]any) {
	left := maps.Clone(s.storage.Clear(essence))
	clear(essence)
	maps.Copy(essence, left)
}

type multiProgress []kopf.ProgressStorage

// Engine implements [bridge.Progress].
func (s multiProgress) Engine(convert func(any) state.ProgressStorage) state.ProgressStorage {
	all := make(state.MultiProgress, len(s))
	for i, one := range s {
		all[i] = convert(one)
	}
	return all
}

// Fetch implements [kopf.ProgressStorage].
func (s multiProgress) Fetch(ctx context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	for _, one := range s {
		record, err := one.Fetch(ctx, body, id)
		if record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// Store implements [kopf.ProgressStorage].
func (s multiProgress) Store(ctx context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Store(ctx, body, id, record, patch) })
}

// Purge implements [kopf.ProgressStorage].
func (s multiProgress) Purge(ctx context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Purge(ctx, body, id, patch) })
}

// Touch implements [kopf.ProgressStorage].
func (s multiProgress) Touch(ctx context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Touch(ctx, body, value, patch) })
}

// Clean implements [kopf.ProgressStorage].
func (s multiProgress) Clean(essence map[string]any) {
	for _, one := range s {
		one.Clean(essence)
	}
}

func each[S any](storages []S, do func(S) error) error {
	for i, one := range storages {
		if err := do(one); err != nil {
			return fmt.Errorf("storage %d of %d: %w", i+1, len(storages), err)
		}
	}
	return nil
}
