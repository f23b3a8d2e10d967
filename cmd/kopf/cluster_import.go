package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newClusterImportCommand() *cobra.Command {
	var cluster string
	cmd := &cobra.Command{
		Use:   "import IMAGE...",
		Short: "Copy images into a k3d cluster",
		Long: `Copy images from the Docker engine into a k3d cluster, whose pods then need not pull them.
An image may also be the path of an archive made by docker save.`,
		Example: `  docker build -t hello:dev . && kopf cluster import hello:dev
  kopf cluster import images.tar --cluster=experiments`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, images []string) error {
			var named []string
			if cluster != "" {
				named = []string{cluster}
			}
			return forCluster(func(cmd *cobra.Command, name string) error {
				line := newProgressLine(cmd.ErrOrStderr())
				err := devcluster.ImportImages(cmd.Context(), name, images, devcluster.Options{Progress: line.report})
				line.end()
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "imported into %s: %s\n", printable.Line(name), printable.Line(strings.Join(images, ", ")))
				return err
			})(cmd, named)
		},
	}
	cmd.Flags().StringVar(&cluster, "cluster", "", "the cluster (default: that of the project)")
	registerCompletion(cmd, "cluster", completeClusters)
	return cmd
}
