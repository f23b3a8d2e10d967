package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/crds"
)

func newCRDCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "crd PACKAGE...",
		Short: "Print the definitions of custom resources from the Go types of their handlers",
		Long: `Print the CustomResourceDefinitions of the resources that handlers are registered for, made from
the Go types of their objects. Name packages as for kopf run; nothing is built or run.

The resource is that of the call of kopf.Resource, whose arguments must be constants. Comments with
markers add to the schema, as for controller-gen: +kubebuilder:validation:Minimum=1,
+kubebuilder:resource:scope=Cluster, +kubebuilder:printcolumn:… and so on. If the kind is not the
name of the type, +kopf:kind=KIND in the comment of the type names it.

` + exitCodes,
		Example: `  # Write the definition, and apply it with the operator
  kopf crd ./handlers > handlers/crd.yaml
  kopf dev ./handlers --apply handlers/

  # Make and apply it on every save
  kopf dev ./handlers --crd`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("find the current folder: %w", err)
			}
			all, err := crds.Generate(cmd.Context(), dir, args)
			if err != nil {
				return err
			}
			for _, d := range all {
				text, err := crds.YAML(d)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
