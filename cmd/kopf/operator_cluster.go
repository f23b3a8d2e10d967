package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// closeTimeout bounds the stop of an embedded cluster, which usually takes a second.
const closeTimeout = 20 * time.Second

// operatorCluster is the cluster of kopf run or kopf dev, from its opening to its end.
type operatorCluster struct {
	mu         sync.Mutex
	cluster    *devcluster.Cluster    // nil until it is open
	connection *devcluster.Connection // the operator's; nil until there is one
}

// open opens the cluster that the options select. A second call opens the first call's cluster again, even if the
// options select another cluster by then.
func (c *operatorCluster) open(ctx context.Context, opts devcluster.Options) (runner.Cluster, error) {
	c.mu.Lock()
	former := c.cluster
	c.mu.Unlock()
	if former != nil {
		opts = sameCluster(opts, former)
		_ = former.Close(context.WithoutCancel(ctx)) // it has ended; its exit is reported already
	}
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

// connect gives a built operator a private kubeconfig, in place of the previous operator's.
func (c *operatorCluster) connect(_ context.Context, _ string, cluster runner.Cluster) (runner.Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.disconnect(); err != nil {
		return cluster, err
	}
	connection, err := c.cluster.Connect()
	if err != nil {
		return cluster, err
	}
	c.connection, cluster.Kubeconfig = connection, connection.Kubeconfig
	return cluster, nil
}

// disconnect removes the kubeconfig of the operator, which has ended.
func (c *operatorCluster) disconnect() error {
	if c.connection == nil {
		return nil
	}
	err := c.connection.Close()
	c.connection = nil
	return err
}

// sameCluster returns options that select the cluster which was open before.
func sameCluster(opts devcluster.Options, former *devcluster.Cluster) devcluster.Options {
	opts.Provider = former.Provider
	if former.Provider == devcluster.Context {
		opts.Context = former.Context
	} else {
		opts.Name = former.Name
	}
	return opts
}

// apply sends one part of the manifests to the open cluster. It returns the objects that the cluster has accepted, even
// with an error about another object.
func (c *operatorCluster) apply(ctx context.Context, paths []string, part settlement.Part) ([]settlement.Applied, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	cluster := c.cluster
	c.mu.Unlock()
	options := apply.Options{Namespace: cluster.Namespace, Only: isOfPart(part)}
	if part.Operator != nil {
		awaitWebhooks(ctx, config, paths, part, options)
	}
	objects, err := apply.Files(ctx, config, paths, options)
	applied := make([]settlement.Applied, len(objects))
	for i, o := range objects {
		applied[i] = settlement.Applied{
			Ref:     inspect.Ref{Resource: resourceKey(o), Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)},
			Version: o.ResourceVersion,
			Change:  string(o.Change),
		}
	}
	return applied, err // the objects are applied, even if others were rejected
}

// restConfig returns the configuration of the open cluster.
func (c *operatorCluster) restConfig() (*rest.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cluster.RESTConfig()
}

// namespace returns the namespace of objects that name none.
func (c *operatorCluster) namespace() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.cluster.Namespace, "default")
}

// resourceKey returns the key of the object's resource in the inspector's format.
func resourceKey(o apply.Object) string {
	key := o.Resource.Resource + "." + o.Resource.Version
	if o.Resource.Group != "" {
		key += "." + o.Resource.Group
	}
	return key
}

// remainsRunning says that the cluster keeps running after the command, and how to stop it. It
// returns nil if it does not, or if kopf does not manage it.
func (c *operatorCluster) remainsRunning() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil || c.cluster.Started || c.cluster.Provider == devcluster.Context {
		return nil
	}
	return []string{fmt.Sprintf("The cluster %s keeps running; stop it with: kopf cluster stop %s", c.cluster.Name, c.cluster.Name)}
}

// remainsStored describes the stored data of an embedded cluster that this command started and stopped, and how to
// delete the data. It returns an empty string for other clusters, and for an ephemeral cluster, which deletes its
// data itself.
func (c *operatorCluster) remainsStored() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil || !c.cluster.Started || c.cluster.Ephemeral || c.cluster.Provider != devcluster.Embedded {
		return ""
	}
	return fmt.Sprintf("The cluster %s has stopped; its objects stay for the next run. Remove them with: kopf cluster delete %s", c.cluster.Name, c.cluster.Name)
}

// close stops the cluster if this command has started it.
func (c *operatorCluster) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(c.disconnect(), c.cluster.Close(ctx))
}

// clusterPhases maps the phases of opening a cluster to the phases that the workbench shows.
var clusterPhases = map[devcluster.Phase]runner.ClusterPhase{
	devcluster.PhaseWait:     runner.ClusterBuilding,
	devcluster.PhaseFetch:    runner.ClusterBuilding,
	devcluster.PhaseDownload: runner.ClusterBuilding,
	devcluster.PhaseCompile:  runner.ClusterBuilding,
	devcluster.PhaseLink:     runner.ClusterBuilding,
	devcluster.PhasePull:     runner.ClusterStarting,
	devcluster.PhaseCreate:   runner.ClusterStarting,
	devcluster.PhaseStart:    runner.ClusterStarting,
	devcluster.PhaseConnect:  runner.ClusterStarting,
	devcluster.PhaseReady:    runner.ClusterReady,
}

// progressOf converts a step of opening a cluster for the workbench.
func progressOf(p devcluster.Progress) runner.Cluster {
	return runner.Cluster{
		Phase: clusterPhases[p.Phase], Done: p.Done, Total: p.Total, Message: p.Message, Elapsed: p.Elapsed, Remaining: p.Remaining,
	}
}

// describe returns a line about the cluster.
func describe(c runner.Cluster) string {
	return fmt.Sprintf("cluster: %s %s, Kubernetes %s at %s (%s)", c.Provider, c.Name, c.Version, c.Server, c.Reason)
}
