package engine

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// ProgressBinder is a progress storage that needs more than the tree of an object. It is bound to
// the object and to a context for its I/O in each cycle. The object is nil if it lacks annotations
// that did not fit on it.
type ProgressBinder interface {
	BindProgress(ctx context.Context, object *object.Object) state.ProgressStorage
}

// DiffBaseBinder is like [ProgressBinder], for diff bases.
type DiffBaseBinder interface {
	BindDiffBase(ctx context.Context, object *object.Object) state.DiffBaseStorage
}

// bindProgress binds a storage, and the parts of a multi-storage, to a cycle.
func bindProgress(ctx context.Context, storage state.ProgressStorage, object *object.Object) state.ProgressStorage {
	switch s := storage.(type) {
	case ProgressBinder:
		return s.BindProgress(ctx, object)
	case state.MultiProgress:
		if !slices.ContainsFunc(s, bindsProgress) {
			return storage // saves the allocation
		}
		bound := make(state.MultiProgress, len(s))
		for i, part := range s {
			bound[i] = bindProgress(ctx, part, object)
		}
		return bound
	default:
		return storage
	}
}

// bindsProgress reports whether a storage, or a part of it, is bound to cycles.
func bindsProgress(storage state.ProgressStorage) bool {
	several, _ := storage.(state.MultiProgress)
	_, binds := storage.(ProgressBinder)
	return binds || slices.ContainsFunc(several, bindsProgress)
}

// bindDiffBase binds a storage, and the parts of a multi-storage, to a cycle.
func bindDiffBase(ctx context.Context, storage state.DiffBaseStorage, object *object.Object) state.DiffBaseStorage {
	switch s := storage.(type) {
	case DiffBaseBinder:
		return s.BindDiffBase(ctx, object)
	case state.MultiDiffBase:
		if !slices.ContainsFunc(s, bindsDiffBase) {
			return storage
		}
		bound := make(state.MultiDiffBase, len(s))
		for i, part := range s {
			bound[i] = bindDiffBase(ctx, part, object)
		}
		return bound
	default:
		return storage
	}
}

// bindsDiffBase reports whether a storage, or a part of it, is bound to cycles.
func bindsDiffBase(storage state.DiffBaseStorage) bool {
	several, _ := storage.(state.MultiDiffBase)
	_, binds := storage.(DiffBaseBinder)
	return binds || slices.ContainsFunc(several, bindsDiffBase)
}
