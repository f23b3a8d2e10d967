package state

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// ProgressBinder is a progress storage that needs more than the tree of an object. In each cycle, it is bound to the object
// and to a context for I/O. The object is nil if annotations did not fit on it, because then it is incomplete.
type ProgressBinder interface {
	BindProgress(ctx context.Context, object *object.Object) ProgressStorage
}

// DiffBaseBinder is like [ProgressBinder], for diff bases.
type DiffBaseBinder interface {
	BindDiffBase(ctx context.Context, object *object.Object) DiffBaseStorage
}

// BindProgress binds a storage, and the parts of a multi-storage, to a cycle.
func BindProgress(ctx context.Context, storage ProgressStorage, object *object.Object) ProgressStorage {
	switch s := storage.(type) {
	case ProgressBinder:
		return s.BindProgress(ctx, object)
	case MultiProgress:
		if !slices.ContainsFunc(s, bindsProgress) {
			return storage // no part needs a binding, so nothing is allocated
		}
		bound := make(MultiProgress, len(s))
		for i, part := range s {
			bound[i] = BindProgress(ctx, part, object)
		}
		return bound
	default:
		return storage
	}
}

// bindsProgress reports whether a storage, or a part of a multi-storage, must be bound to cycles.
func bindsProgress(storage ProgressStorage) bool {
	several, _ := storage.(MultiProgress)
	_, binds := storage.(ProgressBinder)
	return binds || slices.ContainsFunc(several, bindsProgress)
}

// BindDiffBase binds a storage, and the parts of a multi-storage, to a cycle.
func BindDiffBase(ctx context.Context, storage DiffBaseStorage, object *object.Object) DiffBaseStorage {
	switch s := storage.(type) {
	case DiffBaseBinder:
		return s.BindDiffBase(ctx, object)
	case MultiDiffBase:
		if !slices.ContainsFunc(s, BindsDiffBase) {
			return storage
		}
		bound := make(MultiDiffBase, len(s))
		for i, part := range s {
			bound[i] = BindDiffBase(ctx, part, object)
		}
		return bound
	default:
		return storage
	}
}

// BindsDiffBase reports whether a storage, or a part of a multi-storage, must be bound to cycles.
func BindsDiffBase(storage DiffBaseStorage) bool {
	several, _ := storage.(MultiDiffBase)
	_, binds := storage.(DiffBaseBinder)
	return binds || slices.ContainsFunc(several, BindsDiffBase)
}
