package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
)

func newClusterKubeconfigCommand() *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use:   "kubeconfig [NAME]",
		Short: "Print the kubeconfig of a cluster",
		Long:  "Print the kubeconfig of a cluster, or the path of the file. Your own kubeconfig is not changed.",
		Example: `  export KUBECONFIG="$(kopf cluster kubeconfig --path)"
  kopf cluster kubeconfig experiments > experiments.yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeClusters,
		RunE: forCluster(func(cmd *cobra.Command, name string) error {
			i, err := devcluster.Get(cmd.Context(), name)
			if err != nil {
				return err
			}
			if i.Kubeconfig == "" {
				return fmt.Errorf("the cluster %s has no kubeconfig because it never started; start it with: kopf cluster start %s", i.Name, i.Name)
			}
			if path {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), i.Kubeconfig)
				return err
			}
			body, err := os.ReadFile(i.Kubeconfig)
			if err != nil {
				return fmt.Errorf("read the kubeconfig of %s: %w", i.Name, err)
			}
			_, err = cmd.OutOrStdout().Write(body)
			return err
		}),
	}
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the file instead of its content")
	return cmd
}
