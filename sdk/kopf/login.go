package kopf

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// login finds the cluster: the service account of the pod, unless a kubeconfig file or a
// context is asked for; else $KUBECONFIG or ~/.kube/config. See the chapter
// "Authentication" of Kopf's documentation.
func login(kubeconfig, contextName string) (*rest.Config, error) {
	if kubeconfig == "" && contextName == "" {
		config, err := rest.InClusterConfig()
		if err == nil {
			return config, nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("%w: the service account of this pod: %w", ErrLogin, err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
	switch {
	case err == nil:
		return config, nil
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("%w: there is no kubeconfig: set KUBECONFIG, or use --kubeconfig", ErrLogin)
	default:
		return nil, fmt.Errorf("%w: %w", ErrLogin, err)
	}
}
