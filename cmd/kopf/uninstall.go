package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/sdk/uninstall"
)

// uninstallFlags are the flags of kopf uninstall.
type uninstallFlags struct {
	cluster    operatorFlags // its cluster, context and kubeconfig
	namespaces []string
	finalizer  string
	confirm    bool

	name, deployedTo        string
	managed, peering, lease string
}

func newUninstallCommand() *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall PACKAGE...",
		Short: "Remove an operator's leftovers from a cluster",
		Long: `Remove the leftovers of an operator that is not to run again: the configurations of its webhooks,
which make the API server refuse requests; its finalizers, so that the objects can be deleted;
its records in peering objects; and its leases. Stop the operator before: it would add them
again. The objects that the handlers have created stay.

Without --confirm, the command only lists what it would remove. It builds the operator to
learn its finalizer, resources and webhooks. Pass the same flags as the deployed operator.
Name packages as for kopf run.

` + exitCodes,
		Example: `  # Stop the operator, list its leftovers, and remove them
  kubectl delete deployment claims
  kopf uninstall ./handlers --context=staging
  kopf uninstall ./handlers --context=staging --confirm`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return uninstallOperator(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.cluster.cluster, "cluster", devcluster.Auto, "the cluster: auto (the cluster of the project), embedded, k3d, context, or a name of kopf cluster list")
	set.StringVar(&f.cluster.context, "context", "", "the context of the kubeconfig to use (implies --cluster=context)")
	set.StringVar(&f.cluster.kubeconfig, "kubeconfig", "", "the kubeconfig file to use (implies --cluster=context)")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to clean (repeatable; default: the whole cluster)")
	set.StringVar(&f.finalizer, "finalizer", "", "the finalizer, if a startup handler of the operator sets another one")
	set.BoolVar(&f.confirm, "confirm", false, "remove the leftovers")
	set.StringVar(&f.name, "name", "", "the name of the Deployment, as for kopf manifests (default: that of the module)")
	set.StringVar(&f.deployedTo, "deploy-to", "default", "the namespace that the operator ran in, as for kopf manifests")
	set.StringVar(&f.managed, "webhook-managed", "", "the name of the webhook configurations (default: that of the Deployment, with .kopf.dev)")
	set.StringVarP(&f.peering, "peering", "P", "", "the name of the peering object (default: default)")
	set.StringVar(&f.lease, "lease", "", "the name that the replicas shared, as NAME or NAMESPACE/NAME")
	registerCompletion(cmd, "cluster", completeProvidersAndClusters)
	registerCompletion(cmd, "context", f.cluster.completeContexts)
	return cmd
}

// check rejects flags that make no sense.
func (f *uninstallFlags) check() error {
	for _, n := range f.namespaces {
		if strings.TrimSpace(n) == "" || isNamespacePattern(n) {
			return usagef("--namespace=%s: want the name of a namespace", n)
		}
	}
	if namespace, name, both := strings.Cut(f.lease, "/"); both && (namespace == "" || name == "") {
		return usagef("--lease=%s: want NAME or NAMESPACE/NAME", f.lease)
	}
	return nil
}

// isNamespacePattern reports whether a value of --namespace may be about more than the one namespace of that name.
func isNamespacePattern(value string) bool { return strings.ContainsAny(value, "!*?,") }

func uninstallOperator(cmd *cobra.Command, f *uninstallFlags, patterns []string) error {
	ctx := cmd.Context()
	if err := f.check(); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	program, err := runner.Load(ctx, dir, patterns)
	if err != nil {
		return err
	}
	f.name, err = deployedName(ctx, f.name, program)
	if several, ok := errors.AsType[*severalOperatorsError](err); ok {
		fmt.Fprintf(cmd.ErrOrStderr(), "kopf: not looking for webhooks and records of the operator's pods: %s\n", printable.Line(several.Error()))
	} else if err != nil {
		return err
	}
	return withDescribed(cmd, &f.cluster, program, dir, f.args(), func(d *describedOperators) error {
		found := 0
		var errs []error
		for _, o := range d.operators {
			some, err := uninstall.Run(cmd.Context(), d.config, f.target(o, d.served), uninstall.Options{
				DryRun: !f.confirm, Out: cmd.OutOrStdout(),
				Note: func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s\n", text) },
			})
			found += some
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if found > 0 && !f.confirm {
			fmt.Fprintln(cmd.ErrOrStderr(), "kopf: nothing was changed; remove all of this with --confirm, after the operator has stopped")
		}
		return nil
	})
}

// args returns the flags with which the operator describes its leftovers.
func (f *uninstallFlags) args() []string {
	args := scopeArgs(f.namespaces)
	if managed := cmp.Or(f.managed, webhooksOf(f.name)); managed != "" {
		args = append(args, "--webhook-managed="+managed)
	}
	if f.peering != "" {
		args = append(args, "--peering="+f.peering)
	}
	return args
}

// target returns what one operator may have left.
func (f *uninstallFlags) target(o inspect.Description, served uninstall.Discovery) uninstall.Target {
	t := uninstall.NewTarget(o, served)
	t.Finalizer, t.Namespaces, t.Deployment = cmp.Or(f.finalizer, t.Finalizer), f.namespaces, f.name
	if namespace, name, both := strings.Cut(f.lease, "/"); both {
		t.Election, t.LeaseNamespace = name, namespace
	} else if f.lease != "" {
		t.Election = f.lease
	}
	t.Election = cmp.Or(t.Election, t.Shards)
	t.Shards = t.Election // of whichever of the two there was
	t.LeaseNamespace = cmp.Or(t.LeaseNamespace, f.deployedTo)
	return t
}
