package reactor

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/diffbase"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// ProgressBinder is a storage that works on more than trees: in each cycle, it is told
// the object and given a context for its I/O.
type ProgressBinder interface {
	BindProgress(ctx context.Context, object *wire.Object) progress.Storage
}

// DiffBaseBinder is the same for diff bases.
type DiffBaseBinder interface {
	BindDiffBase(ctx context.Context, object *wire.Object) diffbase.Storage
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

func bindProgress(ctx context.Context, storage progress.Storage, object *wire.Object) progress.Storage {
	switch s := storage.(type) {
	case ProgressBinder:
		return s.BindProgress(ctx, object)
	case progress.Multi:
		if !slices.ContainsFunc(s, bindsProgress) {
			return storage // nothing to be made in each cycle
		}
		bound := make(progress.Multi, len(s))
		for i, one := range s {
			bound[i] = bindProgress(ctx, one, object)
		}
		return bound
	default:
		return storage
	}
}

func bindsProgress(storage progress.Storage) bool {
	several, _ := storage.(progress.Multi)
	_, binds := storage.(ProgressBinder)
	return binds || slices.ContainsFunc(several, bindsProgress)
}

func bindDiffBase(ctx context.Context, storage diffbase.Storage, object *wire.Object) diffbase.Storage {
	switch s := storage.(type) {
	case DiffBaseBinder:
		return s.BindDiffBase(ctx, object)
	case diffbase.Multi:
		if !slices.ContainsFunc(s, bindsDiffBase) {
			return storage
		}
		bound := make(diffbase.Multi, len(s))
		for i, one := range s {
			bound[i] = bindDiffBase(ctx, one, object)
		}
		return bound
	default:
		return storage
	}
}

func bindsDiffBase(storage diffbase.Storage) bool {
	several, _ := storage.(diffbase.Multi)
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
