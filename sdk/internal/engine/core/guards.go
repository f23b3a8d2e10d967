package core

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// EnterTerm returns a context for one piece of an object's work, see [WorkOf]. It is bound to the current terms of the guards of the operator, of
// its peering records, and of the object's shard if replicas share the resource's objects.
func (d *Deps) EnterTerm(ctx context.Context, res *ServedResource, obj *object.Object) context.Context {
	all := []*fence.Guard{&d.State.Pause, &d.State.Exit, &d.State.Election}
	if records := d.State.Records.Load(); records != nil {
		all = append(all, *records...)
	}
	if d.Shards != nil && res.Narrowed() {
		all = append(all, d.Shards.Guard(d.Shards.Division.Of(obj)))
	}
	return fence.With(context.WithValue(ctx, workKey{}, &Work{d, res, obj}), all...)
}

// Work is a piece of an object's work.
type Work struct {
	Deps   *Deps
	Served *ServedResource
	Object *object.Object // only identifies the object; daemons and timers have no more of it
}

type workKey struct{}

// WorkOf returns the work to which a context belongs; nil if it is about no object.
func WorkOf(ctx context.Context) *Work {
	work, _ := ctx.Value(workKey{}).(*Work)
	return work
}

// ErrStopping ends a cycle that may not call further handlers. The interrupted attempt is not recorded, so the operator or replica that acts next
// repeats it.
var ErrStopping = errors.New("the operator is stopping, is paused, or may not act on the object now")

// IsFenced reports whether an error means that the operator may not act at present. When it may act again, it relists the objects.
func IsFenced(err error) bool { return errors.Is(err, ErrStopping) || errors.Is(err, fence.ErrLapsed) }
