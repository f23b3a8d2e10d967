package k3d

import (
	"context"
	"errors"
	"fmt"
	"time"

	k3dclient "github.com/k3d-io/k3d/v5/pkg/client"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/apiserver"
)

const (
	// readyInterval is the interval between requests to an API server that starts.
	readyInterval = 100 * time.Millisecond
	// requestTimeout bounds each of them.
	requestTimeout = 2 * time.Second
)

// finish waits until the API server of a started cluster answers, and stores the kubeconfig and
// the record.
func (b *Backend) finish(ctx context.Context, e *engine, r *record, s *steps) error {
	s.begin(devcluster.PhaseConnect, "connecting to the cluster %s", r.Name)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := b.storeKubeconfig(ctx, r); err != nil {
		return err
	}
	version, err := b.waitForServer(ctx, r.Name)
	if err != nil {
		return err
	}
	node, err := e.node(ctx, r.Name)
	if err != nil {
		return err
	}
	if node == nil {
		return errors.New("the node has disappeared")
	}
	if _, err := e.repairHostAlias(ctx, node, r.HostIP); err != nil {
		return err
	}
	if r.Started, err = time.Parse(time.RFC3339Nano, node.State.StartedAt); err != nil {
		return fmt.Errorf("parse the time of the start: %w", err)
	}
	r.Version, r.Usable = version, true
	return b.write(*r)
}

// storeKubeconfig copies the kubeconfig from the node into a private file.
func (b *Backend) storeKubeconfig(ctx context.Context, r *record) error {
	var found *clientcmdapi.Config
	err := call(func() (err error) {
		found, err = k3dclient.KubeconfigGet(ctx, docker, &k3dtypes.Cluster{Name: clusterName(r.Name)})
		return err
	})
	if err != nil {
		return err
	}
	used := found.Contexts[found.CurrentContext]
	name := contextName(r.Name)
	kubeconfig := clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters:       map[string]*clientcmdapi.Cluster{name: found.Clusters[used.Cluster]},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: found.AuthInfos[used.AuthInfo]},
	}
	r.Server = kubeconfig.Clusters[name].Server
	body, err := clientcmd.Write(kubeconfig)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig: %w", err)
	}
	if err := writePrivate(b.kubeconfig(r.Name), body); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// waitForServer waits until the API server answers, and returns its version.
func (b *Backend) waitForServer(ctx context.Context, name string) (string, error) {
	cfg, err := b.restConfig(name)
	if err != nil {
		return "", err
	}
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for {
		version, err := apiserver.Version(ctx, cfg, requestTimeout)
		if err == nil {
			return version, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the API server: %w: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// answers reports whether the API server answers now.
func (b *Backend) answers(ctx context.Context, name string) bool {
	cfg, err := b.restConfig(name)
	if err != nil {
		return false
	}
	_, err = apiserver.Version(ctx, cfg, requestTimeout)
	return err == nil
}

func (b *Backend) restConfig(name string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig(name))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return cfg, nil
}
