package main

import (
	"flag"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags are the flags by which this program, as a process of a measurement, knows the cluster.
type clusterFlags struct {
	*flag.FlagSet
	kubeconfig, context, namespace string
}

func newClusterFlags(name string) *clusterFlags {
	f := &clusterFlags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.StringVar(&f.kubeconfig, "kubeconfig", "", "the configuration of the cluster")
	f.StringVar(&f.context, "context", "", "its context")
	f.StringVar(&f.namespace, "namespace", "", "the namespace of the objects")
	return f
}

func (f *clusterFlags) parse(args []string) (*rest.Config, error) {
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
}
