package main

import (
	"github.com/spf13/cobra"
)

// newClusterCommand returns the command kopf cluster, which manages embedded clusters.
func newClusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Create, list, stop and delete development clusters",
		Long: `Create, list, stop and delete development clusters.

An embedded cluster is a real Kubernetes control plane in one process on this machine, with a
simulated node: pods become Running or Completed without any container. Its program is built
on first use, which needs Go and takes some minutes. A k3d cluster runs in a container of a
Docker engine, with pods that really run. A stopped cluster keeps its data.

A cluster started with these commands runs until you stop it. kopf dev and kopf run start
a stopped cluster themselves; an embedded cluster then stops with them.

Each project has a cluster of its own: without a name, all commands act on that one. The
project is the module of the current folder (or the folder itself), and names the cluster.
--cluster=NAME makes kopf dev and kopf run use any other one.

Your own kubeconfig is never changed; each cluster has its own.`,
		Example: `  # Create a cluster and use it
  kopf cluster create
  kubectl --kubeconfig "$(kopf cluster kubeconfig --path)" get namespaces

  # Stop it, and continue later with the same data
  kopf cluster stop
  kopf cluster start

  # Delete it with its data
  kopf cluster delete`,
	}
	cmd.PersistentFlags().BoolP("verbose", "v", false, "show the log of k3d")
	addCommands(cmd,
		newClusterCreateCommand(),
		newClusterListCommand(),
		newClusterStartCommand(),
		newClusterStopCommand(),
		newClusterDeleteCommand(),
		newClusterKubeconfigCommand(),
		newClusterImportCommand(),
		newClusterPrepareCommand(),
	)
	return cmd
}
