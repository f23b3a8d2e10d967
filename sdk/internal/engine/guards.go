package engine

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// guards returns the guards of an object's work: the operator's, also those of its records in peering objects, and its
// shard's if the objects of its resource are shared.
func (d *deps) guards(res *servedResource, obj *object.Object) []*fence.Guard {
	all := []*fence.Guard{&d.state.pause, &d.state.exit, &d.state.election}
	if records := d.state.records.Load(); records != nil {
		all = append(all, *records...)
	}
	if d.shards != nil && res.narrowed() {
		all = append(all, d.shards.guard(d.shards.of(obj)))
	}
	return all
}

// enterTerm returns a context for a piece of an object's work, which belongs to the present terms of its guards.
func (d *deps) enterTerm(ctx context.Context, res *servedResource, obj *object.Object) context.Context {
	return fence.With(ctx, d.guards(res, obj)...)
}

// errStopping ends a cycle in which the operator may call no more handlers: it was asked to stop or to pause, or another
// one may act. Nothing is recorded of the attempt that was interrupted or not begun; the operator or the replica that acts next makes it.
var errStopping = errors.New("the operator is stopping, is paused, or may not act on the object now")

// isFenced reports whether an error says that the operator may not act now. Nothing failed: whatever permits it to
// act again lists the objects.
func isFenced(err error) bool {
	return errors.Is(err, errStopping) || errors.Is(err, fence.ErrLapsed)
}
