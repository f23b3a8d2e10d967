package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/deploy/uninstall"
	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// uninstallFlags are the flags of kopf uninstall.
type uninstallFlags struct {
	cluster    operatorFlags // its cluster, context and kubeconfig
	namespaces []string
	finalizer  string
	confirm    bool
}

func newUninstallCommand() *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall PACKAGE...",
		Short: "Remove the finalizers that an operator has left",
		Long: `Remove the finalizers of an operator from all objects, so that they can be deleted when the
operator is gone. Stop the operator before: it would add them again.

Without --confirm, nothing is changed: the command tells which objects have the finalizer.
The operator is built and asked for its finalizer and for its resources. Name packages as for
kopf run.

` + exitCodes,
		Example: `  # Stop the operator, see what it has left, and remove it
  kubectl delete deployment handlers
  kopf uninstall ./handlers --context=staging
  kopf uninstall ./handlers --context=staging --confirm`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return uninstallOperator(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.cluster.cluster, "cluster", devcluster.Auto, "the cluster: auto (that of the project), embedded, k3d, context, or a name of kopf cluster list")
	set.StringVar(&f.cluster.context, "context", "", "the context of the kubeconfig to use (implies --cluster=context)")
	set.StringVar(&f.cluster.kubeconfig, "kubeconfig", "", "the kubeconfig file to use (implies --cluster=context)")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to clean (repeatable; default: the whole cluster)")
	set.StringVar(&f.finalizer, "finalizer", "", "the finalizer, if a startup handler of the operator sets another one")
	set.BoolVar(&f.confirm, "confirm", false, "remove the finalizers")
	registerCompletion(cmd, "cluster", completeProvidersAndClusters)
	registerCompletion(cmd, "context", f.cluster.completeContexts)
	return cmd
}

func uninstallOperator(cmd *cobra.Command, f *uninstallFlags, patterns []string) (err error) {
	ctx := cmd.Context()
	for _, n := range f.namespaces {
		if strings.TrimSpace(n) == "" || strings.ContainsAny(n, "!*?,") {
			return usagef("--namespace=%s: want the name of a namespace", n)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	line := newProgressLine(cmd.ErrOrStderr())
	f.cluster.yes = true // the flag --confirm is the consent
	cluster, err := devcluster.Open(ctx, f.cluster.options(line.report))
	line.end()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	config, err := cluster.RESTConfig()
	if err != nil {
		return err
	}
	known, err := resources.Served(ctx, config)
	if err != nil {
		return err
	}
	operators, err := describeOperator(cmd, dir, patterns, scopeArgs(f.namespaces), known)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: cluster: %s\n", printable.Line(cluster.Server))
	failed, found := 0, 0
	for _, o := range operators {
		target := uninstall.Target{Finalizer: o.Finalizer, Resources: marked(o, known), Namespaces: f.namespaces}
		if f.finalizer != "" {
			target.Finalizer = f.finalizer
		}
		some, bad, err := removeFinalizers(cmd, config, target, f.confirm)
		if err != nil {
			return err
		}
		found, failed = found+some, failed+bad
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d objects still have the finalizer; run the command again, or see above why", failed, found)
	case found > 0 && !f.confirm:
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: nothing was changed; remove the finalizers with --confirm, after the operator has stopped")
	}
	return nil
}

// removeFinalizers tells which objects have the finalizer, and removes it if that is confirmed. It returns
// how many there are, and how many still have it after that.
func removeFinalizers(cmd *cobra.Command, config *rest.Config, target uninstall.Target, confirmed bool) (found, failed int, err error) {
	finalizers, err := uninstall.NewFinalizers(config, target)
	if err != nil {
		return 0, 0, err
	}
	objects, err := finalizers.Find(cmd.Context())
	if err != nil {
		return 0, 0, err
	}
	out := cmd.OutOrStdout()
	if !confirmed {
		for _, o := range objects {
			fmt.Fprintf(out, "%s%s\n", printable.Line(o.String()), deletes(o))
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %d objects have the finalizer %s\n", len(objects), printable.Line(target.Finalizer))
		return len(objects), 0, nil
	}
	failed = finalizers.Remove(cmd.Context(), objects, func(o uninstall.Object, err error) {
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s: %s\n", printable.Line(o.String()), printable.Line(err.Error()))
			return
		}
		fmt.Fprintf(out, "%s: released%s\n", printable.Line(o.String()), deletes(o))
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: removed the finalizer %s from %d objects\n", printable.Line(target.Finalizer), len(objects)-failed)
	return len(objects), failed, nil
}

// deletes says what happens to an object that is released while it is being deleted.
func deletes(o uninstall.Object) string {
	if o.Deleting {
		return " (its deletion waits only for finalizers)"
	}
	return ""
}

// marked returns the resources whose objects may have the finalizer of an operator: those that it patches.
func marked(o inspect.Description, known []inspect.APIResource) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, r := range known {
		patched := func(p inspect.Permission) bool {
			return p.Purpose == inspect.HandledObjects && slices.Contains(p.Verbs, "patch") &&
				(p.Group == r.Group || p.Group == "*") && (p.Resource == r.Plural || p.Resource == "*")
		}
		gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
		same := func(o schema.GroupVersionResource) bool { return o.GroupResource() == gvr.GroupResource() }
		if slices.ContainsFunc(o.Permissions, patched) && slices.Contains(r.Verbs, "list") && !slices.ContainsFunc(all, same) {
			all = append(all, gvr)
		}
	}
	return all
}
