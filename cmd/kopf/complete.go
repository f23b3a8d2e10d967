package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// completionTimeout bounds a request to the cluster while a shell waits for a completion.
const completionTimeout = 2 * time.Second

// completeProvidersAndClusters completes --cluster.
func completeProvidersAndClusters(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	names, directive := completeClusters(cmd, nil, text)
	return append([]string{
		devcluster.Auto + "\tthat of the project", devcluster.Embedded + "\tthat of the project", devcluster.K3d + "\tin containers", devcluster.Context + "\tof the kubeconfig",
	}, names...), directive
}

// completions returns the completions for a shell, without names that a shell cannot show unchanged.
func completions(names []string) ([]string, cobra.ShellCompDirective) {
	shown := slices.DeleteFunc(names, func(name string) bool { return printable.Line(name) != name })
	return shown, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts completes --context from the kubeconfig of the command line.
func (f *operatorFlags) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names, err := devcluster.Contexts(f.kubeconfig)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return completions(names)
}

// completeNamespaces completes --namespace from the cluster of the command line, if it runs.
func (f *operatorFlags) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	names, err := devcluster.Namespaces(ctx, f.options(nil))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return completions(names)
}
