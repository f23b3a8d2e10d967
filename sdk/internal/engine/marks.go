package engine

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// ProgressBinder is a storage that works on more than trees: in each cycle, it is told
// the object and given a context for its I/O.
type ProgressBinder interface {
	BindProgress(ctx context.Context, object *object.Object) state.ProgressStorage
}

// DiffBaseBinder is the same for diff bases.
type DiffBaseBinder interface {
	BindDiffBase(ctx context.Context, object *object.Object) state.DiffBaseStorage
}

// bind prepares what is needed to read and write the operator's marks on the object.
func (c *cycle) bind(ctx context.Context) {
	c.marks = patch.NewPatch()
	c.seen = c.memory.unwritten.over(c.tree)
	object := c.object
	if len(c.memory.unwritten) > 0 {
		object = nil // what is not written on the object is in the tree alone
	}
	c.progress = bindProgress(ctx, c.settings.Progress, object)
	c.diffbase = bindDiffBase(ctx, c.settings.DiffBase, object)
}

func bindProgress(ctx context.Context, storage state.ProgressStorage, object *object.Object) state.ProgressStorage {
	switch s := storage.(type) {
	case ProgressBinder:
		return s.BindProgress(ctx, object)
	case state.MultiProgress:
		if !slices.ContainsFunc(s, bindsProgress) {
			return storage // nothing to be made in each cycle
		}
		bound := make(state.MultiProgress, len(s))
		for i, one := range s {
			bound[i] = bindProgress(ctx, one, object)
		}
		return bound
	default:
		return storage
	}
}

func bindsProgress(storage state.ProgressStorage) bool {
	several, _ := storage.(state.MultiProgress)
	_, binds := storage.(ProgressBinder)
	return binds || slices.ContainsFunc(several, bindsProgress)
}

func bindDiffBase(ctx context.Context, storage state.DiffBaseStorage, object *object.Object) state.DiffBaseStorage {
	switch s := storage.(type) {
	case DiffBaseBinder:
		return s.BindDiffBase(ctx, object)
	case state.MultiDiffBase:
		if !slices.ContainsFunc(s, bindsDiffBase) {
			return storage
		}
		bound := make(state.MultiDiffBase, len(s))
		for i, one := range s {
			bound[i] = bindDiffBase(ctx, one, object)
		}
		return bound
	default:
		return storage
	}
}

func bindsDiffBase(storage state.DiffBaseStorage) bool {
	several, _ := storage.(state.MultiDiffBase)
	_, binds := storage.(DiffBaseBinder)
	return binds || slices.ContainsFunc(several, bindsDiffBase)
}

// collect puts the operator's marks into the patch, as far as there is room for them.
func (c *cycle) collect() {
	if c.patch.Empty() {
		c.patch = c.marks
	} else {
		c.patch = c.patch.Take() // handlers that are left behind may still have it
		c.patch.Append(c.marks)
	}
	c.fit(c.patch, c.marks)
}
