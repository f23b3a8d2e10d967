package core

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// guards returns the guards of an object's work: the operator's, also those of its records in peering objects, and its
// shard's if the objects of its resource are shared.
func (d *Deps) guards(res *ServedResource, obj *object.Object) []*fence.Guard {
	all := []*fence.Guard{&d.State.Pause, &d.State.Exit, &d.State.Election}
	if records := d.State.Records.Load(); records != nil {
		all = append(all, *records...)
	}
	if d.Shards != nil && res.Narrowed() {
		all = append(all, d.Shards.Guard(d.Shards.of(obj)))
	}
	return all
}

// EnterTerm returns a context for a piece of an object's work, which belongs to the present terms of its guards.
func (d *Deps) EnterTerm(ctx context.Context, res *ServedResource, obj *object.Object) context.Context {
	return fence.With(ctx, d.guards(res, obj)...)
}

// ErrStopping ends a cycle in which the operator may call no more handlers: it was asked to stop or to pause, or another
// one may act. Nothing is recorded of the attempt that was interrupted or not begun; the operator or the replica that acts next makes it.
var ErrStopping = errors.New("the operator is stopping, is paused, or may not act on the object now")

// IsFenced reports whether an error says that the operator may not act now. Nothing failed: whatever permits it to
// act again lists the objects.
func IsFenced(err error) bool {
	return errors.Is(err, ErrStopping) || errors.Is(err, fence.ErrLapsed)
}
