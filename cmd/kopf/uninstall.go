package main

import (
	"cmp"
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

	name, deployedTo        string
	managed, peering, lease string
}

func newUninstallCommand() *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall PACKAGE...",
		Short: "Remove what an operator has left in a cluster",
		Long: `Remove what an operator leaves when it is gone for good: the configurations of its webhooks,
without which requests would be refused; its finalizers, so that the objects can be deleted;
its records in peering objects; and its leases. Stop the operator before: it would add them
again. The objects that the handlers have created stay.

Without --confirm, nothing is changed: the command tells what there is. The operator is built
and asked for its finalizer, its resources and its webhooks. What its flags have set where it
was deployed, set here as well. Name packages as for kopf run.

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
	set.BoolVar(&f.confirm, "confirm", false, "remove what was found")
	set.StringVar(&f.name, "name", "", "the name of the Deployment, as for kopf manifests (default: that of the package's folder)")
	set.StringVar(&f.deployedTo, "deploy-to", "default", "the namespace that the operator ran in, as for kopf manifests")
	set.StringVar(&f.managed, "webhook-managed", "", "the name of the webhook configurations (default: that of the Deployment, with .kopf.dev)")
	set.StringVar(&f.peering, "peering", "", "the name of the peering object (default: default)")
	set.StringVar(&f.lease, "lease", "", "the name that the replicas shared, as NAME or NAMESPACE/NAME")
	registerCompletion(cmd, "cluster", completeProvidersAndClusters)
	registerCompletion(cmd, "context", f.cluster.completeContexts)
	return cmd
}

// check rejects flags that make no sense.
func (f *uninstallFlags) check() error {
	for _, n := range f.namespaces {
		if strings.TrimSpace(n) == "" || strings.ContainsAny(n, "!*?,") {
			return usagef("--namespace=%s: want the name of a namespace", n)
		}
	}
	if namespace, name, both := strings.Cut(f.lease, "/"); both && (namespace == "" || name == "") {
		return usagef("--lease=%s: want NAME or NAMESPACE/NAME", f.lease)
	}
	return nil
}

func uninstallOperator(cmd *cobra.Command, f *uninstallFlags, patterns []string) (err error) {
	ctx := cmd.Context()
	if err := f.check(); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	f.name = nameOfOperator(f.name, dir, patterns)
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
	operators, err := describeOperator(cmd, dir, patterns, f.args(), known)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: cluster: %s\n", printable.Line(cluster.Server))
	var all tally
	for _, o := range operators {
		some, err := uninstallOne(cmd, f, config, o, known)
		if err != nil {
			return err
		}
		all.add(some)
	}
	switch {
	case all.failed > 0:
		return fmt.Errorf("%d of %d are still there; run the command again, or see above why", all.failed, all.found)
	case all.found > 0 && !f.confirm:
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: nothing was changed; remove all of this with --confirm, after the operator has stopped")
	}
	return nil
}

// args returns the flags with which the operator describes what it leaves.
func (f *uninstallFlags) args() []string {
	args := append(scopeArgs(f.namespaces), "--webhook-managed="+cmp.Or(f.managed, webhooksOf(f.name)))
	if f.peering != "" {
		args = append(args, "--peering="+f.peering)
	}
	return args
}

// tally counts what was found, and what could not be removed.
type tally struct{ found, failed int }

func (t *tally) add(o tally) { t.found, t.failed = t.found+o.found, t.failed+o.failed }

// uninstallOne removes what one operator has left, or tells what that is. Webhooks are the first: as long as the API
// server calls them, it may refuse to change the objects.
func uninstallOne(cmd *cobra.Command, f *uninstallFlags, config *rest.Config, o inspect.Description, known []inspect.APIResource) (all tally, err error) {
	remains, err := uninstall.NewRemains(config, f.traces(o))
	if err != nil {
		return all, err
	}
	defer remains.Close()
	leases, err := remains.Leases(cmd.Context())
	if err != nil {
		return all, err
	}
	for _, lease := range leases {
		if err := lease.InUse(); err != nil && f.confirm {
			return all, fmt.Errorf("uninstall: %s: %w", lease, err) // before anything is changed
		}
	}
	webhooks, err := remains.Webhooks(cmd.Context())
	if err != nil {
		return all, err
	}
	peers, err := remains.Peers(cmd.Context())
	if err != nil {
		return all, err
	}
	all.add(removeRemains(cmd, webhooks, f.confirm))
	target := uninstall.Target{Finalizer: cmp.Or(f.finalizer, o.Finalizer), Resources: marked(o, known), Namespaces: f.namespaces}
	some, err := removeFinalizers(cmd, config, target, f.confirm)
	if err != nil {
		return all, err
	}
	all.add(some)
	all.add(removeRemains(cmd, peers, f.confirm))
	all.add(removeRemains(cmd, leases, f.confirm))
	return all, nil
}

// traces returns the names under which an operator leaves something besides its finalizers.
func (f *uninstallFlags) traces(o inspect.Description) uninstall.Traces {
	t := uninstall.Traces{
		Webhooks: cmp.Or(f.managed, o.Webhooks), Lease: o.Leases.Name, LeaseNamespace: o.Leases.Namespace,
		Peering: o.Peering, Namespaces: f.namespaces, Deployment: f.name,
	}
	if namespace, name, both := strings.Cut(f.lease, "/"); both {
		t.Lease, t.LeaseNamespace = name, namespace
	} else if f.lease != "" {
		t.Lease = f.lease
	}
	t.LeaseNamespace = cmp.Or(t.LeaseNamespace, f.deployedTo)
	return t
}

// removeRemains removes what was found, or tells what that is.
func removeRemains(cmd *cobra.Command, all []uninstall.Remain, confirmed bool) tally {
	t := tally{found: len(all)}
	for _, r := range all {
		name := printable.Line(r.String())
		if !confirmed {
			fmt.Fprintln(cmd.OutOrStdout(), name)
			if err := r.InUse(); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s: %s\n", name, printable.Line(err.Error()))
			}
			continue
		}
		if err := r.Remove(cmd.Context()); err != nil {
			t.failed++
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s: %s\n", name, printable.Line(err.Error()))
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", name)
	}
	return t
}

// removeFinalizers tells which objects have the finalizer, and removes it if that is confirmed.
func removeFinalizers(cmd *cobra.Command, config *rest.Config, target uninstall.Target, confirmed bool) (tally, error) {
	finalizers, err := uninstall.NewFinalizers(config, target)
	if err != nil {
		return tally{}, err
	}
	objects, err := finalizers.Find(cmd.Context())
	if err != nil {
		return tally{}, err
	}
	out := cmd.OutOrStdout()
	if !confirmed {
		for _, o := range objects {
			fmt.Fprintf(out, "%s%s\n", printable.Line(o.String()), deletes(o))
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "kopf: objects with the finalizer %s: %d\n", printable.Line(target.Finalizer), len(objects))
		return tally{found: len(objects)}, nil
	}
	failed := finalizers.Remove(cmd.Context(), objects, func(o uninstall.Object, err error) {
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: %s: %s\n", printable.Line(o.String()), printable.Line(err.Error()))
			return
		}
		fmt.Fprintf(out, "%s: released%s\n", printable.Line(o.String()), deletes(o))
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: objects without the finalizer %s now: %d\n", printable.Line(target.Finalizer), len(objects)-failed)
	return tally{len(objects), failed}, nil
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
