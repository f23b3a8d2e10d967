package storage

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// AnnotationDiffBase returns a storage of the diff base in an annotation, the default. It panics if an ignored field
// is malformed.
func AnnotationDiffBase(annotation DiffBaseAnnotation) kopf.DiffBaseStorage {
	return diffBase{&state.AnnotationsDiffBase{
		Prefix: cmp.Or(annotation.Prefix, defaultPrefix),
		Key:    cmp.Or(annotation.Key, defaultDiffBaseKey),
		V1:     !annotation.NoV1,

		Ignored: ignoredPaths(annotation.Ignored),
	}}
}

// StatusDiffBase returns a storage of the diff base in the status. It panics if a field is malformed.
func StatusDiffBase(field DiffBaseField) kopf.DiffBaseStorage {
	return diffBase{&state.StatusDiffBase{
		Field:   fieldPath(field.Field, field.Name, "status.{name}."+defaultDiffBaseKey),
		Ignored: ignoredPaths(field.Ignored),
	}}
}

// MultiDiffBase returns a storage of the diff base that writes to all storages, and reads from the first that has a
// diff base. It serves to migrate from one storage to another.
func MultiDiffBase(storages ...kopf.DiffBaseStorage) kopf.DiffBaseStorage {
	return multiDiffBase(storages)
}

// diffBase adapts a storage of the engine.
type diffBase struct{ storage state.DiffBaseStorage }

// Engine implements [bridge.DiffBase].
func (s diffBase) Engine(func(any) state.DiffBaseStorage) state.DiffBaseStorage { return s.storage }

// Essence implements [kopf.DiffBaseStorage]. It removes the storage's own fields from the essence, unless handlers name
// these fields.
func (s diffBase) Essence(_ *kopf.Object, essence map[string]any) map[string]any {
	asked := []object.Path{{"apiVersion"}, {"kind"}, {"status"}}
	metadata, _ := essence["metadata"].(map[string]any)
	for key := range metadata {
		if key != "labels" && key != "annotations" {
			asked = append(asked, object.Path{"metadata", key})
		}
	}
	return s.storage.Essence(essence, asked)
}

// Fetch implements [kopf.DiffBaseStorage].
func (s diffBase) Fetch(_ context.Context, body *kopf.Object) (map[string]any, error) {
	return s.storage.Fetch(treeOf(body))
}

// Store implements [kopf.DiffBaseStorage].
func (s diffBase) Store(_ context.Context, body *kopf.Object, essence map[string]any, patch *kopf.Patch) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	return s.storage.Store(treeOf(body), raw, essence, nil, bridge.PatchOf(patch))
}

type multiDiffBase []kopf.DiffBaseStorage

// Engine implements [bridge.DiffBase].
func (s multiDiffBase) Engine(convert func(any) state.DiffBaseStorage) state.DiffBaseStorage {
	all := make(state.MultiDiffBase, len(s))
	for i, one := range s {
		all[i] = convert(one)
	}
	return all
}

// Essence implements [kopf.DiffBaseStorage].
func (s multiDiffBase) Essence(body *kopf.Object, essence map[string]any) map[string]any {
	for _, one := range s {
		essence = one.Essence(body, essence)
	}
	return essence
}

// Fetch implements [kopf.DiffBaseStorage].
func (s multiDiffBase) Fetch(ctx context.Context, body *kopf.Object) (map[string]any, error) {
	for _, one := range s {
		essence, err := one.Fetch(ctx, body)
		if essence != nil || err != nil {
			return essence, err
		}
	}
	return nil, nil
}

// Store implements [kopf.DiffBaseStorage].
func (s multiDiffBase) Store(ctx context.Context, body *kopf.Object, essence map[string]any, patch *kopf.Patch) error {
	return each(s, func(one kopf.DiffBaseStorage) error { return one.Store(ctx, body, essence, patch) })
}
