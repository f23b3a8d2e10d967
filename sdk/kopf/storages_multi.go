package kopf

import (
	"context"
	"fmt"
)

// Fetch implements [ProgressStorage].
func (s MultiProgress) Fetch(ctx context.Context, body *Object, id string) (*ProgressRecord, error) {
	for _, one := range s {
		record, err := one.Fetch(ctx, body, id)
		if record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// Store implements [ProgressStorage].
func (s MultiProgress) Store(ctx context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error {
	return eachStorage(s, func(one ProgressStorage) error { return one.Store(ctx, body, id, record, patch) })
}

// Purge implements [ProgressStorage].
func (s MultiProgress) Purge(ctx context.Context, body *Object, id string, patch *Patch) error {
	return eachStorage(s, func(one ProgressStorage) error { return one.Purge(ctx, body, id, patch) })
}

// Touch implements [ProgressStorage].
func (s MultiProgress) Touch(ctx context.Context, body *Object, value string, patch *Patch) error {
	return eachStorage(s, func(one ProgressStorage) error { return one.Touch(ctx, body, value, patch) })
}

// Clean implements [ProgressStorage].
func (s MultiProgress) Clean(essence map[string]any) {
	for _, one := range s {
		one.Clean(essence)
	}
}

// Essence implements [DiffBaseStorage].
func (s MultiDiffBase) Essence(body *Object, essence map[string]any) map[string]any {
	for _, one := range s {
		essence = one.Essence(body, essence)
	}
	return essence
}

// Fetch implements [DiffBaseStorage].
func (s MultiDiffBase) Fetch(ctx context.Context, body *Object) (map[string]any, error) {
	for _, one := range s {
		essence, err := one.Fetch(ctx, body)
		if essence != nil || err != nil {
			return essence, err
		}
	}
	return nil, nil
}

// Store implements [DiffBaseStorage].
func (s MultiDiffBase) Store(ctx context.Context, body *Object, essence map[string]any, patch *Patch) error {
	return eachStorage(s, func(one DiffBaseStorage) error { return one.Store(ctx, body, essence, patch) })
}

func eachStorage[S any](storages []S, do func(S) error) error {
	for i, one := range storages {
		if err := do(one); err != nil {
			return fmt.Errorf("storage %d of %d: %w", i+1, len(storages), err)
		}
	}
	return nil
}
