package k3d

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/docker/docker/api/types/container"
	k3dclient "github.com/k3d-io/k3d/v5/pkg/client"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Start implements [devcluster.Backend].
func (b *Backend) Start(ctx context.Context, name string, o devcluster.Options) (devcluster.Info, error) {
	s := newSteps(o)
	defer s.end()
	unlock, err := b.lock(ctx, name, func() {
		s.begin(devcluster.PhaseWait, "waiting for another process that works on the cluster %s", name)
	})
	if err != nil {
		return devcluster.Info{}, err
	}
	defer unlock()
	r, e, err := b.open(ctx, name)
	if err != nil {
		return devcluster.Info{}, err
	}
	defer func() { _ = e.close() }() // nothing was buffered
	began := time.Now()
	node, err := e.node(ctx, name)
	if err == nil {
		err = b.start(ctx, e, node, &r, s)
	}
	if err != nil {
		return devcluster.Info{}, e.explain(ctx, fault.ErrStart, "start the cluster "+name, r, err)
	}
	s.begin(devcluster.PhaseReady, "%s runs Kubernetes %s, after %.1f s", name, r.Version, time.Since(began).Seconds())
	return b.info(r, devcluster.Running), nil
}

// open reads the record of a usable cluster, and connects to its engine. The error is ErrNotFound if the cluster no
// longer exists.
func (b *Backend) open(ctx context.Context, name string) (record, *engine, error) {
	r, err := b.read(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !r.Usable {
		return record{}, nil, notFound(name)
	}
	if err != nil {
		return record{}, nil, err
	}
	e, err := connect(ctx, engineTimeout)
	if err != nil {
		return record{}, nil, err
	}
	same, err := e.is(ctx, r)
	if err == nil && !same {
		err = e.otherEngine(r, "select that engine with DOCKER_HOST or docker context use, or delete the cluster with: kopf cluster delete "+name)
	}
	if err != nil {
		return record{}, nil, errors.Join(err, e.close())
	}
	return r, e, nil
}

// is reports whether the engine is the one of the record. Different engines can be at the same
// address at different times, and one can be moved.
func (e *engine) is(ctx context.Context, r record) (bool, error) {
	info, err := e.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("ask the engine about itself: %w", err)
	}
	return info.ID == r.Engine, nil
}

// otherEngine returns the error that the current engine is not the engine of the record.
func (e *engine) otherEngine(r record, next string) error {
	return &fault.Error{
		Kind:    fault.ErrNoEngine,
		Message: fmt.Sprintf("the cluster %q is in another Docker engine, which was at %s; the current one is at %s", r.Name, r.Endpoint, e.endpoint),
		Next:    next,
	}
}

// start starts the node unless it is running, and completes the record.
func (b *Backend) start(ctx context.Context, e *engine, node *container.InspectResponse, r *record, s *steps) error {
	if node == nil {
		return notFound(r.Name)
	}
	if !node.State.Running {
		s.begin(devcluster.PhaseStart, "starting K3s in the cluster %s", r.Name)
		began := time.Now()
		err := call(func() error { return e.startLibrary(ctx, r) })
		if err = errors.Join(err, removeHostsFiles(r.Name, began)); err != nil {
			return err
		}
	}
	return b.finish(ctx, e, r, s)
}

// startLibrary starts the containers with the k3d library.
func (e *engine) startLibrary(ctx context.Context, r *record) error {
	cluster, err := k3dclient.ClusterGet(ctx, docker, &k3dtypes.Cluster{Name: clusterName(r.Name)})
	if err != nil {
		return err
	}
	opts, err := k3dclient.GetClusterStartOptsFromLabels(cluster)
	if err != nil {
		return err
	}
	environment, err := e.environment(ctx, cluster.Network.Name, r.Image)
	if err != nil {
		return err
	}
	opts.WaitForServer, opts.Timeout, opts.Intent, opts.EnvironmentInfo = true, startTimeout, k3dtypes.IntentClusterStart, environment
	ctx, stop := e.untilFatal(ctx, r.Name)
	defer stop()
	return k3dclient.ClusterStart(ctx, docker, cluster, opts)
}

func notFound(name string) error {
	return &fault.Error{
		Kind: fault.ErrNotFound, Message: fmt.Sprintf("the cluster %q no longer exists", name),
		Next: "create it with: kopf cluster create " + name,
	}
}
