package storage

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Fetch implements [kopf.ProgressStorage].
func (s MultiProgress) Fetch(ctx context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	for _, one := range s {
		record, err := one.Fetch(ctx, body, id)
		if record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// Store implements [kopf.ProgressStorage].
func (s MultiProgress) Store(ctx context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Store(ctx, body, id, record, patch) })
}

// Purge implements [kopf.ProgressStorage].
func (s MultiProgress) Purge(ctx context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Purge(ctx, body, id, patch) })
}

// Touch implements [kopf.ProgressStorage].
func (s MultiProgress) Touch(ctx context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return each(s, func(one kopf.ProgressStorage) error { return one.Touch(ctx, body, value, patch) })
}

// Clean implements [kopf.ProgressStorage].
func (s MultiProgress) Clean(essence map[string]any) {
	for _, one := range s {
		one.Clean(essence)
	}
}

// Essence implements [kopf.DiffBaseStorage].
func (s MultiDiffBase) Essence(body *kopf.Object, essence map[string]any) map[string]any {
	for _, one := range s {
		essence = one.Essence(body, essence)
	}
	return essence
}

// Fetch implements [kopf.DiffBaseStorage].
func (s MultiDiffBase) Fetch(ctx context.Context, body *kopf.Object) (map[string]any, error) {
	for _, one := range s {
		essence, err := one.Fetch(ctx, body)
		if essence != nil || err != nil {
			return essence, err
		}
	}
	return nil, nil
}

// Store implements [kopf.DiffBaseStorage].
func (s MultiDiffBase) Store(ctx context.Context, body *kopf.Object, essence map[string]any, patch *kopf.Patch) error {
	return each(s, func(one kopf.DiffBaseStorage) error { return one.Store(ctx, body, essence, patch) })
}

func each[S any](storages []S, do func(S) error) error {
	for i, one := range storages {
		if err := do(one); err != nil {
			return fmt.Errorf("storage %d of %d: %w", i+1, len(storages), err)
		}
	}
	return nil
}
