package k3d

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	cerrdefs "github.com/containerd/errdefs"
	k3dclient "github.com/k3d-io/k3d/v5/pkg/client"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Stop implements [devcluster.Backend].
func (b *Backend) Stop(ctx context.Context, name string) error {
	unlock, err := b.lock(ctx, name, nil)
	if err != nil {
		return err
	}
	defer unlock()
	r, e, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = e.close() }() // nothing was buffered
	err = call(func() error {
		cluster, err := k3dclient.ClusterGet(ctx, docker, &k3dtypes.Cluster{Name: clusterName(name)})
		if err != nil {
			return err
		}
		return k3dclient.ClusterStop(ctx, docker, cluster)
	})
	return e.explain(ctx, fault.ErrEngine, "stop the cluster "+name, r, err)
}

// Delete implements [devcluster.Backend].
func (b *Backend) Delete(ctx context.Context, name string) error {
	unlock, err := b.lock(ctx, name, nil)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := b.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	e, err := connect(ctx, engineTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = e.close() }() // nothing was buffered
	same, err := e.is(ctx, r)
	if err == nil && !same && r.Endpoint != e.endpoint {
		return e.otherEngine(r, "select that engine with DOCKER_HOST or docker context use; if it no longer exists, delete "+b.dir(name))
	}
	// An engine with another identity at the same address was reset, or has replaced the previous engine.
	if err == nil {
		err = b.clean(ctx, e, name)
	}
	if err != nil {
		return e.explain(ctx, fault.ErrEngine, "delete the cluster "+name, r, err)
	}
	return b.forget(name)
}

// clean deletes the containers, the volumes and the network of a cluster that has a record. It lists them in the
// engine, because a creation may have been interrupted anywhere, and deletes only things with the labels of the
// cluster, because unrelated things may have the same names.
func (b *Backend) clean(ctx context.Context, e *engine, name string) error {
	members, err := e.members(ctx, name)
	if err != nil {
		return err
	}
	if len(members) > 0 {
		err := call(func() error {
			return k3dclient.ClusterDelete(ctx, docker, &k3dtypes.Cluster{Name: clusterName(name)}, k3dtypes.ClusterDeleteOpts{})
		})
		if err != nil {
			return err
		}
		if members, err = e.members(ctx, name); err != nil {
			return err
		}
		if len(members) > 0 {
			return fmt.Errorf("the container %s cannot be deleted", members[0].ID[:12])
		}
	}
	if err := e.removeProbes(ctx, networkName(name)); err != nil {
		return err
	}
	return e.removeNetwork(ctx, name)
}

// removeNetwork deletes the network of a cluster without containers. The k3d library leaves it
// if no container was created. It does not delete a network that is not k3d's, or that has
// containers of others.
func (e *engine) removeNetwork(ctx context.Context, name string) error {
	n, err := e.findNetwork(ctx, name)
	if err != nil || n == nil || n.Labels["app"] != "k3d" || len(n.Containers) > 0 {
		return err
	}
	if err := e.NetworkRemove(ctx, n.ID); err != nil && !cerrdefs.IsNotFound(err) {
		return fmt.Errorf("delete the network %s: %w", networkName(name), err)
	}
	return nil
}
