package main

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfigLoader returns the loader of a kubeconfig file and one of its contexts. Both default to those that
// kubectl uses.
func kubeconfigLoader(path, contextName string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
}

// errNoKubeconfig is the error of commands that find no cluster. The cluster of a project is not in the user's own
// kubeconfig.
var errNoKubeconfig = errors.New(`find the cluster: there is no kubeconfig; name one with --kubeconfig. ` +
	`For the cluster of this project: --kubeconfig="$(kopf cluster kubeconfig --path)"`)

// clusterConfig returns how to connect to the cluster of a kubeconfig.
func clusterConfig(loader clientcmd.ClientConfig) (*rest.Config, error) {
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errNoKubeconfig
	case err != nil:
		return nil, fmt.Errorf("find the cluster: %w; name one with --kubeconfig or --context", err)
	}
	return config, nil
}
