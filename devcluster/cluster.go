package devcluster

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a cluster that answers.
type Cluster struct {
	// Provider is Embedded or Context.
	Provider string
	// Name is the name of the cluster: for a context, the context's.
	Name string
	// Reason says why this one was chosen, for people.
	Reason string
	// Version is the server's, such as v1.37.1.
	Version string
	// Server is the URL of the API server.
	Server string
	// KubeconfigPath is the file that kubectl needs. It is empty where several files are merged:
	// then the usual rules find them, given Context.
	KubeconfigPath string
	// Context is the name of the context in the kubeconfig.
	Context string
	// Namespace is the default namespace of the context.
	Namespace string
	// Started tells that Open has started this cluster, so that Close stops it.
	Started bool

	stop  func(context.Context) error
	ended <-chan struct{}
}

// Ended is closed when a cluster has ended that Open has started: because of Close, or by
// itself. It is nil for others, of which that cannot be known.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// RESTConfig is what client-go needs to talk to the cluster. Every call makes a new one.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	cfg, err := clientConfig(c.KubeconfigPath, c.Context).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", c.Name, err)
	}
	return cfg, nil
}

// Close stops what [Open] has started. A cluster that was running before stays.
// It is safe to call it twice.
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
