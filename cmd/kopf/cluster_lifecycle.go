package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newClusterCreateCommand() *cobra.Command {
	var o devcluster.Options
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create a cluster and start it",
		Long: `Create a cluster and start it. It runs until it is stopped.

The provider embedded is a control plane in one process, with a simulated node. The provider
k3d is K3s in a container, whose pods really run; it needs a Docker engine, and pulls its image
on first use. By default, it is k3d if an engine answers, and else embedded.

Without a name, it is the cluster of the project, which is the module of the current folder
(or the folder itself). kopf dev and kopf run use it there by default.`,
		Example: `  kopf cluster create
  kopf cluster create experiments
  kopf cluster create throwaway --ephemeral
  kopf cluster create --feature-gates=ShardedListAndWatch=true
  kopf cluster create --provider=k3d --registry`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			o.Project, o.LowPriority = currentProject(), true
			line := newProgressLine(cmd.ErrOrStderr())
			o.Progress = line.report
			i, err := devcluster.Create(cmd.Context(), o)
			line.end()
			if err != nil {
				return err
			}
			return printStarted(cmd, "created", i)
		},
	}
	cmd.Flags().StringVar(&o.Provider, "provider", devcluster.Auto, "where the cluster comes from: auto, embedded or k3d")
	cmd.Flags().BoolVar(&o.Ephemeral, "ephemeral", false, "an embedded cluster, whose data are deleted when it stops")
	addFeatureGates(cmd, &o.FeatureGates)
	cmd.Flags().StringVar(&o.K3d.Version, "k3s-version", "", "with k3d: the version of K3s, such as v1.32.5-k3s1")
	cmd.Flags().BoolVar(&o.K3d.Registry, "registry", false, "with k3d: create a registry, from which the cluster pulls images")
	completeWith(cmd, "provider", devcluster.Auto, devcluster.Embedded, devcluster.K3d)
	return cmd
}

// addFeatureGates adds the flag for the features of an embedded cluster.
func addFeatureGates(cmd *cobra.Command, gates *string) {
	cmd.Flags().StringVar(gates, "feature-gates", "", "with an embedded cluster: features of the API server, such as ShardedListAndWatch=true")
}

func newClusterStartCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "start [NAME]",
		Short:             "Start a stopped cluster",
		Long:              "Start a stopped cluster with its data. Starting a running cluster does nothing.",
		Example:           "  kopf cluster start\n  kopf cluster start experiments",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeClusters,
		RunE: forCluster(func(cmd *cobra.Command, name string) error {
			line := newProgressLine(cmd.ErrOrStderr())
			i, err := devcluster.Start(cmd.Context(), name, devcluster.Options{LowPriority: true, Progress: line.report})
			line.end()
			if err != nil {
				return err
			}
			return printStarted(cmd, "started", i)
		}),
	}
}

func newClusterStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "stop [NAME]",
		Short:             "Stop a cluster and keep its data",
		Long:              "Stop a cluster and keep its data. Stopping a stopped cluster does nothing.\n\nA cluster that kopf dev or kopf run has started stops with them; this command cannot stop it.",
		Example:           "  kopf cluster stop\n  kopf cluster stop experiments",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeClusters,
		RunE: forCluster(func(cmd *cobra.Command, name string) error {
			if err := devcluster.Stop(cmd.Context(), name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s stopped\n", printable.Line(name))
			return err
		}),
	}
}

func newClusterDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "delete [NAME]",
		Short:             "Stop a cluster and delete its data",
		Example:           "  kopf cluster delete\n  kopf cluster delete experiments",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeClusters,
		RunE: forCluster(func(cmd *cobra.Command, name string) error {
			if err := devcluster.Delete(cmd.Context(), name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s deleted\n", printable.Line(name))
			return err
		}),
	}
}

// forCluster returns the function of a command that acts on the named cluster, or on the project's cluster.
func forCluster(act func(cmd *cobra.Command, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		name, err := clusterName(cmd.Context(), args)
		if err != nil {
			return err
		}
		return act(cmd, name)
	}
}

// clusterName returns the named cluster, or the cluster of the current folder's project.
func clusterName(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	i, err := devcluster.OfProject(ctx, currentProject())
	return i.Name, err
}

// currentProject returns the project of the current folder.
func currentProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // the commands that need the folder report that
	}
	return devcluster.ProjectOf(dir)
}

// printStarted prints what happened to standard output, and how to use it to standard error.
func printStarted(cmd *cobra.Command, verb string, i devcluster.Info) error {
	started := fmt.Sprintf("cluster %s %s: Kubernetes %s at %s", i.Name, verb, i.Version, i.Server)
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), printable.Line(started)); err != nil {
		return err
	}
	notes := []string{"Use it with: export KUBECONFIG=" + i.Kubeconfig}
	switch {
	case i.Provider == devcluster.Embedded:
		notes = append(notes, "Its node is simulated: pods become Running without any container.")
	case i.Registry != "":
		notes = append(notes, fmt.Sprintf("Push images to %s; pods pull them from %s.", i.Registry, i.RegistryHost))
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), printable.Line(note)); err != nil {
			return err
		}
	}
	return nil
}

func completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	infos, err := devcluster.List(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Name+"\t"+printable.Line(strings.TrimSuffix(string(i.State)+", "+i.Project, ", ")))
	}
	return completions(names)
}

// clusterNames returns the names of all clusters.
func clusterNames(ctx context.Context) ([]string, error) {
	infos, err := devcluster.List(ctx)
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names, err
}
