package k3d

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/flags"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"
	"github.com/spf13/pflag"
)

// nameLabel is the label of our containers with the name of the cluster.
const nameLabel = "dev.kopf.cluster"

// probeLabel is the label of our containers that only live for a moment, with the network of the cluster that
// they are for.
const probeLabel = "dev.kopf.probe"

// engine is a connection to the Docker engine.
type engine struct {
	client.APIClient
	endpoint string // its address
}

// connect connects to the engine that docker and k3d use: that of $DOCKER_HOST, or of the
// current context of Docker. It fails if the engine does not answer in time or cannot be used;
// afterwards, the calls of the k3d library do not end the process.
func connect(ctx context.Context, timeout time.Duration) (*engine, error) {
	configFile, err := config.Load("")
	if err != nil {
		return nil, badConfig(err)
	}
	opts := flags.NewClientOptions()
	set := pflag.NewFlagSet("docker", pflag.ContinueOnError)
	opts.InstallFlags(set)
	opts.SetDefaultOptions(set)
	api, err := command.NewAPIClientFromFlags(opts, configFile)
	if err != nil {
		return nil, badConfig(err)
	}
	e := &engine{APIClient: api, endpoint: api.DaemonHost()}
	if err := e.check(ctx, timeout); err != nil {
		_ = e.Close() // there may be no connection
		return nil, err
	}
	return e, nil
}

// check fails if the engine does not answer in time, or cannot run clusters of this machine.
func (e *engine) check(ctx context.Context, timeout time.Duration) error {
	if !isLocal(e.endpoint) {
		return remoteEngine(e.endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ping, err := e.Ping(ctx)
	if err != nil {
		return noEngine(ctx, e.endpoint, timeout, err)
	}
	if ping.OSType == "windows" {
		return windowsContainers(e.endpoint)
	}
	e.NegotiateAPIVersionPing(ping)
	return nil
}

// isLocal reports whether the ports of containers are ports of this machine.
func isLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	if u.Scheme == "unix" || u.Scheme == "npipe" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// close closes the connection.
func (e *engine) close() error {
	if err := e.Close(); err != nil {
		return fmt.Errorf("close the connection to the Docker engine: %w", err)
	}
	return nil
}

// containers returns the containers of our clusters, or of one of them, running or not. Besides the node, these are
// the registry and containers that others have added to the cluster.
func (e *engine) containers(ctx context.Context, label, value string) ([]container.Summary, error) {
	all, err := e.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", strings.TrimSuffix(label+"="+value, "=")))})
	if err != nil {
		return nil, fmt.Errorf("list the containers: %w", err)
	}
	return all, nil
}

// members returns the containers of the cluster, which include the registry.
func (e *engine) members(ctx context.Context, name string) ([]container.Summary, error) {
	return e.containers(ctx, k3dtypes.LabelClusterName, clusterName(name))
}

// node returns the container of the cluster's node, or nil. It is the one that kopf has labelled.
func (e *engine) node(ctx context.Context, name string) (*container.InspectResponse, error) {
	all, err := e.containers(ctx, nameLabel, name)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Labels[k3dtypes.LabelClusterName] != clusterName(name) || c.Labels[k3dtypes.LabelRole] != string(k3dtypes.ServerRole) {
			continue
		}
		details, err := e.ContainerInspect(ctx, c.ID)
		if cerrdefs.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("inspect the container %s: %w", serverName(name), err)
		}
		return &details, nil
	}
	return nil, nil
}

// findNetwork returns the network of the cluster, or nil.
func (e *engine) findNetwork(ctx context.Context, name string) (*network.Inspect, error) {
	n, err := e.NetworkInspect(ctx, networkName(name), network.InspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect the network %s: %w", networkName(name), err)
	}
	return &n, nil
}
