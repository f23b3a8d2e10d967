package k3d

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"time"

	k3dclient "github.com/k3d-io/k3d/v5/pkg/client"
	"github.com/k3d-io/k3d/v5/pkg/config"
	"github.com/k3d-io/k3d/v5/pkg/config/types"
	"github.com/k3d-io/k3d/v5/pkg/config/v1alpha5"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// portAttempts is how often a creation chooses ports, if other programs take them first.
const portAttempts = 3

// Create implements [devcluster.Backend].
func (b *Backend) Create(ctx context.Context, name, project string, o devcluster.Options) (devcluster.Info, error) {
	s := newSteps(o)
	defer s.end()
	unlock, err := b.lock(ctx, name, func() {
		s.begin(devcluster.PhaseWait, "waiting for another process that works on the cluster %s", name)
	})
	if err != nil {
		return devcluster.Info{}, err
	}
	defer unlock()
	if _, err := b.read(name); !errors.Is(err, fs.ErrNotExist) {
		return devcluster.Info{}, errors.Join(err, &fault.Error{
			Kind: fault.ErrInUse, Message: fmt.Sprintf("another process has created the cluster %q meanwhile", name), Next: "try again",
		})
	}
	image, err := nodeImage(o.K3d.Version)
	if err != nil {
		return devcluster.Info{}, err
	}
	e, err := connect(ctx, engineTimeout)
	if err != nil {
		return devcluster.Info{}, err
	}
	defer func() { _ = e.close() }() // nothing was buffered
	if err := e.checkFree(ctx, name); err != nil {
		return devcluster.Info{}, e.explain(ctx, fault.ErrStart, "create the cluster "+name, record{Name: name}, err)
	}
	r := record{Name: name, Project: project, Endpoint: e.endpoint, Created: time.Now(), Image: image}
	if err := b.create(ctx, e, &r, o.K3d, s); err != nil {
		err = e.explain(ctx, fault.ErrStart, "create the cluster "+name, r, err)
		return devcluster.Info{}, errors.Join(err, b.rollBack(ctx, e, name))
	}
	s.begin(devcluster.PhaseReady, "%s runs Kubernetes %s, after %.1f s", name, r.Version, time.Since(r.Created).Seconds())
	return b.info(r, devcluster.Running), nil
}

// checkFree fails if the engine has containers of this cluster that kopf does not know.
func (e *engine) checkFree(ctx context.Context, name string) error {
	members, err := e.members(ctx, name)
	if err != nil || len(members) == 0 {
		return err
	}
	return &fault.Error{
		Kind:    fault.ErrExists,
		Message: fmt.Sprintf("the Docker engine at %s has a k3d cluster %s that kopf has no record of", e.endpoint, clusterName(name)),
		Next:    fmt.Sprintf("delete it with k3d cluster delete %s, or name another cluster", clusterName(name)),
	}
}

// create creates the cluster of the record, and completes the record.
func (b *Backend) create(ctx context.Context, e *engine, r *record, o devcluster.K3dOptions, s *steps) error {
	info, err := e.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine about itself: %w", err)
	}
	r.Engine = info.ID
	images := []string{r.Image}
	if o.Registry {
		images = append(images, registryImage())
	}
	for _, image := range images {
		if err := e.ensureImage(ctx, image, s); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		err := b.run(ctx, e, r, o, s)
		if err == nil || attempt == portAttempts || !taken.MatchString(err.Error()) {
			return err
		}
		if err := b.clean(ctx, e, r.Name); err != nil {
			return err
		}
	}
}

// run creates and starts the containers, on free ports.
func (b *Backend) run(ctx context.Context, e *engine, r *record, o devcluster.K3dOptions, s *steps) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	r.Server = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	if o.Registry {
		r.Registry = ports[1]
	}
	if err := b.write(*r); err != nil {
		return err
	}
	s.begin(devcluster.PhaseCreate, "creating the cluster %s in containers", r.Name)
	began := time.Now()
	err = call(func() error { return e.runLibrary(ctx, r, s) })
	if err = errors.Join(err, removeHostsFiles(r.Name, began)); err != nil {
		return err
	}
	return b.finish(ctx, e, r, s)
}

// runLibrary creates and starts the containers with the k3d library, as its ClusterRun does, which
// also needs the image k3d-tools.
func (e *engine) runLibrary(ctx context.Context, r *record, s *steps) error {
	cluster, err := specify(ctx, r)
	if err != nil {
		return err
	}
	if err := k3dclient.ClusterPrep(ctx, docker, cluster); err != nil {
		return err
	}
	environment, err := e.environment(ctx, cluster.Network.Name, r.Image)
	if err != nil {
		return err
	}
	r.HostIP = environment.HostGateway.String()
	for _, node := range cluster.Nodes {
		if node.Role == k3dtypes.ServerRole {
			node.ExtraHosts = append(node.ExtraHosts, hostsEntry(r.HostIP))
			if node.RuntimeLabels == nil {
				node.RuntimeLabels = make(map[string]string)
			}
			node.RuntimeLabels[nameLabel] = r.Name
		}
	}
	if err := k3dclient.ClusterCreate(ctx, docker, &cluster.Cluster, &cluster.ClusterCreateOpts); err != nil {
		return err
	}
	s.begin(devcluster.PhaseStart, "starting K3s in the cluster %s", r.Name)
	ctx, stop := e.untilFatal(ctx, r.Name)
	defer stop()
	return k3dclient.ClusterStart(ctx, docker, &cluster.Cluster, k3dtypes.ClusterStartOpts{
		WaitForServer: true, Timeout: startTimeout, Intent: k3dtypes.IntentClusterCreate,
		NodeHooks: cluster.ClusterCreateOpts.NodeHooks, EnvironmentInfo: environment,
	})
}

// specify returns the configuration of a new cluster: one server, without a load balancer, an
// ingress, metrics, and a volume for images, which are imported directly.
func specify(ctx context.Context, r *record) (*v1alpha5.ClusterConfig, error) {
	_, port, err := net.SplitHostPort(r.Server[len("https://"):])
	if err != nil {
		return nil, fmt.Errorf("parse the address of the server: %w", err)
	}
	servers := []string{"server:*"}
	simple := v1alpha5.SimpleConfig{
		TypeMeta:   types.TypeMeta{APIVersion: v1alpha5.ApiVersion, Kind: "Simple"},
		ObjectMeta: types.ObjectMeta{Name: clusterName(r.Name)},
		Servers:    1,
		Image:      r.Image,
		ExposeAPI:  v1alpha5.SimpleExposureOpts{HostIP: "127.0.0.1", HostPort: port},
		Options: v1alpha5.SimpleConfigOptions{
			K3dOptions: v1alpha5.SimpleConfigOptionsK3d{Wait: true, Timeout: startTimeout, DisableLoadbalancer: true, DisableImageVolume: true},
			K3sOptions: v1alpha5.SimpleConfigOptionsK3s{ExtraArgs: []v1alpha5.K3sArgWithNodeFilters{
				{Arg: "--disable=traefik", NodeFilters: servers},
				{Arg: "--disable=metrics-server", NodeFilters: servers},
			}},
		},
	}
	if r.Registry != 0 {
		simple.Registries.Create = &v1alpha5.SimpleConfigRegistryCreateConfig{
			Name: registryName(r.Name), Host: "127.0.0.1", HostPort: strconv.Itoa(r.Registry), Image: registryImage(),
		}
	}
	if err := config.ProcessSimpleConfig(&simple); err != nil {
		return nil, err
	}
	cluster, err := config.TransformSimpleToClusterConfig(ctx, docker, simple, "")
	if err != nil {
		return nil, err
	}
	if cluster, err = config.ProcessClusterConfig(*cluster); err != nil {
		return nil, err
	}
	return cluster, config.ValidateClusterConfig(ctx, docker, *cluster)
}

// registryName returns the name of the registry's container.
func registryName(name string) string { return "k3d-" + clusterName(name) + "-registry" }

// registryHost returns the address of the registry in the cluster.
func registryHost(name string) string {
	return net.JoinHostPort(registryName(name), k3dtypes.DefaultRegistryPort)
}

// freePorts returns different ports of 127.0.0.1 on which no program listens. Another program can
// take them at any time.
func freePorts(count int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range slices.Backward(listeners) {
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return ports, nil
}

// rollBack deletes the leftovers of a failed creation, even if the creation was cancelled. If the engine has stopped,
// the record remains, so that a later command deletes the rest.
func (b *Backend) rollBack(ctx context.Context, e *engine, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if _, err := b.read(name); errors.Is(err, fs.ErrNotExist) {
		return nil // no container was created
	}
	if gone() {
		return nil
	}
	if err := b.clean(ctx, e, name); err != nil {
		return fmt.Errorf("delete the leftovers: %w", err)
	}
	return b.forget(name)
}
