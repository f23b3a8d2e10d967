package main

import (
	"github.com/spf13/cobra"
)

// newClusterCommand is kopf cluster: the clusters that kopf manages.
func newClusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Create, list, stop and delete clusters to develop with",
		Long: `Create, list, stop and delete clusters to develop with.

A cluster is a real Kubernetes control plane in one process on this machine, with a
simulated node: pods become Running or Completed without any container. Its data
survive a stop. The program is built on first use, which takes some minutes and Go.

A cluster that is started here runs until it is stopped, and kopf dev and kopf run use
it when they find it. Without one they start their own, which ends with them.

Your own kubeconfig is never written to; each cluster has one.`,
		Example: `  # Have a cluster, and look into it
  kopf cluster create
  kubectl --kubeconfig "$(kopf cluster kubeconfig --path)" get namespaces

  # Stop it, and continue with the same data later
  kopf cluster stop
  kopf cluster start

  # Get rid of it
  kopf cluster delete`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newClusterCreateCommand(),
		newClusterListCommand(),
		newClusterStartCommand(),
		newClusterStopCommand(),
		newClusterDeleteCommand(),
		newClusterKubeconfigCommand(),
		newClusterPrepareCommand(),
	)
	return cmd
}
