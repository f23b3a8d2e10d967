package k3d

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// List implements [devcluster.Backend].
func (b *Backend) List(ctx context.Context) ([]devcluster.Info, error) {
	records, err := b.records()
	if err != nil || len(records) == 0 {
		return nil, err
	}
	e, err := connect(ctx, probeTimeout)
	if err == nil {
		defer func() { _ = e.close() }() // nothing was buffered
	} else if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// In parallel, because a cluster that hangs takes the whole timeout.
	states := make([]devcluster.State, len(records))
	var wg sync.WaitGroup
	for n, r := range records {
		wg.Go(func() { states[n] = b.state(ctx, e, r) })
	}
	wg.Wait()
	var infos []devcluster.Info
	for n, r := range records {
		if states[n] != "" {
			infos = append(infos, b.info(r, states[n]))
		}
	}
	return infos, nil
}

// state returns the state of a cluster, or an empty string if it no longer exists. The engine is nil if it does not
// answer.
func (b *Backend) state(ctx context.Context, e *engine, r record) devcluster.State {
	if !r.Usable {
		if b.working(r.Name) {
			return devcluster.Starting
		}
		return "" // its creation was interrupted
	}
	if e == nil {
		return devcluster.Unreachable
	}
	if same, err := e.is(ctx, r); err != nil || !same {
		return devcluster.Unreachable
	}
	node, err := e.node(ctx, r.Name)
	switch {
	case err != nil:
		return devcluster.Unreachable
	case node == nil:
		return ""
	case !node.State.Running:
		return devcluster.Stopped
	case b.answers(ctx, r.Name):
		return devcluster.Running
	case b.working(r.Name), node.State.Restarting:
		return devcluster.Starting
	default:
		return devcluster.Unreachable
	}
}

// working reports whether a process works on the cluster.
func (b *Backend) working(name string) bool {
	unlock, err := b.tryLock(name)
	if err == nil {
		unlock()
	}
	return errors.Is(err, errLocked)
}

// Sweep implements [devcluster.Backend]. It deletes clusters whose creation was interrupted, and records of clusters
// that were deleted in the engine. If the engine does not answer, a later command does so.
func (b *Backend) Sweep(ctx context.Context) error {
	records, err := b.records()
	if err != nil || len(records) == 0 {
		return err
	}
	e, err := connect(ctx, probeTimeout)
	if err != nil {
		return context.Cause(ctx) // nil, unless this command was cancelled
	}
	defer func() { _ = e.close() }() // nothing was buffered
	for _, r := range records {
		if err := b.sweep(ctx, e, r.Name); err != nil {
			return e.explain(ctx, fault.ErrEngine, "delete the leftovers of the cluster "+r.Name, r, err)
		}
	}
	return nil
}

// sweep deletes the leftovers of a cluster, if the cluster is not usable and no process works on it.
func (b *Backend) sweep(ctx context.Context, e *engine, name string) error {
	unlock, err := b.tryLock(name)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := b.read(name) // under the lock
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if same, err := e.is(ctx, r); err != nil || !same {
		return err
	}
	if r.Usable {
		node, err := e.node(ctx, name)
		if err != nil || node != nil {
			return err
		}
	}
	if err := b.clean(ctx, e, name); err != nil {
		return err
	}
	return b.forget(name)
}
