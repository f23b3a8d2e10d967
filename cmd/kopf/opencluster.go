package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// closeTimeout is far above the second that an embedded cluster takes to stop.
const closeTimeout = 20 * time.Second

// clusterInUse is the cluster of one command, from its opening to its end.
type clusterInUse struct {
	mu      sync.Mutex
	cluster *devcluster.Cluster // nil until it is open
}

// open opens the cluster that the options ask for.
func (c *clusterInUse) open(ctx context.Context, opts devcluster.Options) (runner.Cluster, error) {
	cluster, err := devcluster.Open(ctx, opts)
	if err != nil {
		return runner.Cluster{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = cluster
	return runner.Cluster{
		Phase:      runner.ClusterReady,
		Provider:   cluster.Provider,
		Name:       cluster.Name,
		Reason:     cluster.Reason,
		Version:    cluster.Version,
		Server:     cluster.Server,
		Kubeconfig: cluster.KubeconfigPath,
		Context:    cluster.Context,
		Ended:      cluster.Ended(),
	}, nil
}

// apply applies manifests to the open cluster.
func (c *clusterInUse) apply(ctx context.Context, paths []string) ([]runner.Applied, error) {
	c.mu.Lock()
	cluster := c.cluster
	c.mu.Unlock()
	config, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	objects, err := apply.Files(ctx, config, paths, apply.Options{Namespace: cluster.Namespace})
	if err != nil {
		return nil, err
	}
	applied := make([]runner.Applied, len(objects))
	for i, o := range objects {
		applied[i] = runner.Applied{
			Ref:     inspect.Ref{Resource: resourceKey(o), Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)},
			Version: o.ResourceVersion,
		}
	}
	return applied, nil
}

// resourceKey identifies the resource of an object as the inspector does.
func resourceKey(o apply.Object) string {
	key := o.Resource.Resource + "." + o.Resource.Version
	if o.Resource.Group != "" {
		key += "." + o.Resource.Group
	}
	return key
}

// stays tells that the cluster goes on after the command, and how to stop it.
func (c *clusterInUse) stays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil || c.cluster.Started || c.cluster.Provider == devcluster.Context {
		return nil
	}
	return []string{fmt.Sprintf("The cluster %s goes on: kopf cluster stop %s", c.cluster.Name, c.cluster.Name)}
}

// close stops the cluster if this command has started it.
func (c *clusterInUse) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return c.cluster.Close(ctx)
}

// clusterPhases are the phases of a cluster's opening as the workbench knows them.
var clusterPhases = map[devcluster.Phase]runner.ClusterPhase{
	devcluster.PhaseWait:     runner.ClusterBuilding,
	devcluster.PhaseDownload: runner.ClusterBuilding,
	devcluster.PhaseCompile:  runner.ClusterBuilding,
	devcluster.PhaseLink:     runner.ClusterBuilding,
	devcluster.PhaseStart:    runner.ClusterStarting,
	devcluster.PhaseConnect:  runner.ClusterStarting,
	devcluster.PhaseReady:    runner.ClusterReady,
}

// progressOf is a step of the opening as the workbench knows it.
func progressOf(p devcluster.Progress) runner.Cluster {
	return runner.Cluster{Phase: clusterPhases[p.Phase], Done: p.Done, Total: p.Total, Message: p.Message}
}

// describe is the cluster in one line.
func describe(c runner.Cluster) string {
	return fmt.Sprintf("cluster: %s %s, Kubernetes %s at %s (%s)", c.Provider, c.Name, c.Version, c.Server, c.Reason)
}
