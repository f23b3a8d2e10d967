package main

import (
	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/deploy/manifests"
)

func newManifestsPeeringCommand() *cobra.Command {
	var o manifests.PeeringOptions
	var only, output string
	cmd := &cobra.Command{
		Use:   "peering",
		Short: "Print the manifests of peering",
		Long: `Print the definitions of the resources for peering, and a peering object: operators with
the same peering object pause each other by their priorities. It is one for the operators of
the whole cluster, or with --namespace one for the operators of each of these namespaces.

The cluster must have the definitions before it accepts the objects: apply them apart.

` + exitCodes,
		Example: `  # For the operators of the whole cluster
  kopf manifests peering --only=definitions | kubectl apply -f -
  kopf manifests peering --only=objects | kubectl apply -f -

  # For those of a namespace with --peering=myapp
  kopf manifests peering --only=objects --name=myapp -n myapp | kubectl apply -f -`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case output != "yaml" && output != "json":
				return usagef("unknown output format %q; use yaml or json", output)
			case only != "" && only != "definitions" && only != "objects":
				return usagef("--only=%s: want definitions or objects", only)
			}
			o.NoDefinitions, o.NoObjects = only == "objects", only == "definitions"
			p, err := manifests.NewPeering(o)
			if err != nil {
				return usagef("%w", err)
			}
			return writeManifests(cmd.OutOrStdout(), p, output)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&o.Name, "name", "default", "the name of the peering object")
	set.StringArrayVarP(&o.Namespaces, "namespace", "n", nil, "a namespace that needs a peering object of its own (repeatable)")
	set.StringVar(&only, "only", "", "print only these: definitions or objects")
	set.StringVarP(&output, "output", "o", "yaml", "output format: yaml or json")
	completeWith(cmd, "only", "definitions", "objects")
	completeWith(cmd, "output", "yaml", "json")
	return cmd
}
