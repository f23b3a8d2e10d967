package devcluster

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// Cluster is a usable cluster. Its methods must not be called concurrently.
type Cluster struct {
	// Provider is Embedded, K3d or Context.
	Provider string
	// Name is the name of the cluster or, for the provider Context, of the context.
	Name string
	// Reason explains to a person why this cluster was chosen.
	Reason string
	// Version is the server's version, such as v1.37.1.
	Version string
	// Server is the URL of the API server, without a password.
	Server string
	// KubeconfigPath is the path of the kubeconfig. It is empty if the default loading rules
	// of kubectl apply, with Context.
	KubeconfigPath string
	// Context is the name of the context in the kubeconfig.
	Context string
	// Namespace is the default namespace of the context.
	Namespace string
	// Started reports whether Open has started the cluster, so that Close stops it. It is
	// false for K3d, whose clusters keep running.
	Started bool
	// Ephemeral reports whether the cluster deletes its data when it stops.
	Ephemeral bool

	copied bool // started with Copy
	stop   func(context.Context) error
	ended  <-chan struct{}
}

// Ended returns a channel that is closed when the process of the cluster has exited. It is
// nil if Open did not start the cluster.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// RESTConfig returns a new client configuration for the cluster.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	cfg, err := clientConfig(c.KubeconfigPath, c.Context).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", c.Name, printable.Error(err))
	}
	return cfg, nil
}

// Close stops the cluster if [Open] has started it. Further calls do nothing.
func (c *Cluster) Close(ctx context.Context) error {
	if c.stop == nil {
		return nil
	}
	stop := c.stop
	c.stop = nil
	return stop(ctx)
}

// clientConfig loads kubeconfigs as kubectl does: an explicit path must exist, otherwise
// $KUBECONFIG (a list) or ~/.kube/config are read.
func clientConfig(path, contextName string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	rules.WarnIfAllMissing = false
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
}
