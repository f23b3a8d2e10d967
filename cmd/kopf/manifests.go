package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/deploy/image"
	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// manifestsFlags are the flags of kopf manifests.
type manifestsFlags struct {
	name, image, deployTo string
	namespaces            []string
	allNamespaces         bool
	definitions           []string
	context, kubeconfig   string
	output                string

	inspect     string
	replicas    int
	scaling     scalingFlags
	peering     string
	standalone  bool
	managed     string
	certificate string

	uninstall, finalizer, deployment string
}

func newManifestsCommand() *cobra.Command {
	var f manifestsFlags
	cmd := &cobra.Command{
		Use:   "manifests PACKAGE...",
		Short: "Print the manifests to deploy an operator with",
		Long: `Print the manifests that a deployed operator needs: its service account, its Deployment,
and roles with nothing but the permissions that its handlers need. A comment at each rule
names these handlers. If handlers send requests themselves, declare these with the
option kopf.Uses. With admission handlers, there is a Service for them.

The operator is built and asked for its handlers; it does not connect to a cluster. Custom
resources are known from the definitions in the folders of the packages and from --crd, or
from a cluster that serves them (--context). Name packages as for kopf run.

` + exitCodes,
		Example: `  # Print the manifests of an operator of the whole cluster
  kopf manifests ./handlers --image=registry.example.com/operator:v1

  # With the definition of the custom resource, for one namespace
  kopf manifests ./handlers --crd=crd.yaml --image=registry.example.com/operator:v1 -n myapp

  # With a replica that stands by, and a certificate of cert-manager for the webhooks
  kopf manifests ./handlers --image=registry.example.com/operator:v1 \\
    --leader-elect --lease=claims --webhook-cert-secret=claims-webhooks

  # The Job that stops the operator, and removes what it has left in the cluster
  kopf manifests ./handlers --image=registry.example.com/operator:v1 --uninstall

  # See what a change of the code changes in the cluster
  kopf manifests ./handlers --image=registry.example.com/operator:v2 | kubectl diff -f -`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return printManifests(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.image, "image", "", "the operator's container image; without it, no Deployment is printed")
	set.StringVar(&f.name, "name", "", "the name of all objects (default: that of the module)")
	set.StringVar(&f.deployTo, "deploy-to", "", "the namespace to run the operator in (default: the one that it serves, or else default)")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to serve, or a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "serve the whole cluster, which is the default")
	set.StringArrayVar(&f.definitions, "crd", nil, "a manifest, or a folder of manifests, with definitions of custom resources (repeatable)")
	set.StringVar(&f.context, "context", "", "a context of the kubeconfig, whose cluster knows the resources")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file of the cluster that knows the resources")
	set.StringVarP(&f.output, "output", "o", "yaml", "output format: yaml or json")
	set.StringVar(&f.inspect, "inspect", "", "publish the operator's state in the pod, at tcp:127.0.0.1:PORT, for kopf attach")
	set.IntVar(&f.replicas, "replicas", 0, "the number of pods (default: 1, or 2 with --leader-elect or --shards)")
	f.scaling.add(cmd)
	set.StringVarP(&f.peering, "peering", "P", "", "the name of the peering object, which must exist (default: the object \"default\", if the cluster of --context has peering)")
	set.BoolVar(&f.standalone, "standalone", false, "ignore other operators: no peering")
	set.StringVar(&f.managed, "webhook-managed", "", "the name of the webhook configurations, with a dot (default: that of all objects, with .kopf.dev)")
	set.StringVar(&f.certificate, "webhook-cert-secret", "", "the Secret with the certificate of the webhooks, as cert-manager writes it (default: the operator makes one)")
	set.StringVar(&f.uninstall, "uninstall", "", "print a Job that removes the deployed operator instead: now, or dry-run to only list the leftovers")
	set.Lookup("uninstall").NoOptDefVal = uninstallNow
	set.StringVar(&f.finalizer, "finalizer", "", "the finalizer to remove, if a startup handler of the operator sets another one")
	set.StringVar(&f.deployment, "deployment", "", "the name of the Deployment to remove, if a kustomization has changed it (default: that of all objects)")
	completeWith(cmd, "output", "yaml", "json")
	completeWith(cmd, "uninstall", uninstallNow, uninstallDryRun)
	cmd.AddCommand(newManifestsPeeringCommand())
	return cmd
}

// The values of --uninstall.
const (
	uninstallNow    = "now"
	uninstallDryRun = "dry-run"
)

// check rejects flags that make no sense.
func (f *manifestsFlags) check(cmd *cobra.Command) error {
	switch {
	case f.output != "yaml" && f.output != "json":
		return usagef("unknown output format %q; use yaml or json", f.output)
	case slices.ContainsFunc(f.namespaces, func(n string) bool { return strings.TrimSpace(n) == "" }):
		return usagef("--namespace is empty: name one, or use --all-namespaces")
	case f.allNamespaces && len(f.namespaces) > 0:
		return usagef("--all-namespaces excludes --namespace: use one or the other")
	case f.standalone && f.peering != "":
		return usagef("--standalone excludes --peering: use one or the other")
	case cmd.Flags().Changed("replicas") && f.replicas < 1:
		return usagef("--replicas=%d: want at least 1", f.replicas)
	case !slices.Contains([]string{"", uninstallNow, uninstallDryRun}, f.uninstall):
		return usagef("--uninstall=%s: want now or dry-run", f.uninstall)
	case f.uninstall != "" && f.image == "":
		return usagef("--uninstall needs --image: the operator's own program removes its leftovers")
	case f.finalizer != "" && f.uninstall == "":
		return usagef("--finalizer needs --uninstall")
	case f.deployment != "" && f.uninstall == "":
		return usagef("--deployment needs --uninstall")
	case f.replicas > 1 && f.scaling.lease == "":
		return usagef("--replicas=%d: each would handle all objects; add --lease with --leader-elect or --shards", f.replicas)
	}
	if f.inspect != "" {
		if _, err := inspect.Dial(f.inspect); err != nil { // Dial only parses the address
			return usagef("--inspect: %w", err)
		}
	}
	if f.image != "" {
		if err := image.CheckReference(f.image); err != nil {
			return usagef("--image: %w", err)
		}
	}
	return f.scaling.check(cmd)
}

// args returns the operator's flags that affect its permissions, except for the flags of the scope and of the
// webhooks.
func (f *manifestsFlags) args(cmd *cobra.Command) []string {
	args := f.scaling.args(cmd)
	if onlyNamed(f.namespaces) {
		args = append(args, noScanning)
	}
	if f.inspect != "" {
		args = append(args, "--inspect="+f.inspect)
	}
	if f.peering != "" {
		args = append(args, "--peering="+f.peering)
	}
	if f.standalone {
		args = append(args, "--standalone")
	}
	return args
}

func printManifests(cmd *cobra.Command, f *manifestsFlags, patterns []string) (err error) {
	if err := f.check(cmd); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	known, err := f.knownResources(cmd.Context(), packageFolders(dir, patterns))
	if err != nil {
		return err
	}
	program, err := runner.Load(cmd.Context(), dir, patterns)
	if err != nil {
		return err
	}
	name, err := deployedName(cmd.Context(), f.name, program)
	if err != nil {
		return err
	}
	args := f.args(cmd)
	asked := slices.Concat(scopeArgs(f.namespaces), args, []string{"--webhook-managed=" + cmp.Or(f.managed, webhooksOf(name))})
	descriptions, err := describeOperator(cmd.Context(), program, dir, asked, known)
	if err != nil {
		return err
	}
	warnAssumed(cmd.ErrOrStderr(), descriptions)
	m, err := manifests.New(manifests.Options{
		Name: name, Namespace: f.deployTo, Image: f.image, Replicas: f.replicas, Served: f.namespaces, Args: args,
		Certificate: f.certificate, Operators: descriptions,
	})
	if err != nil {
		return err
	}
	if f.uninstall != "" {
		if m, err = m.Uninstall(manifests.UninstallOptions{Finalizer: f.finalizer, Deployment: f.deployment, DryRun: f.uninstall == uninstallDryRun}); err != nil {
			return err
		}
	}
	return writeManifests(cmd.OutOrStdout(), m, f.output)
}

// writeManifests writes manifests in a format.
func writeManifests(w io.Writer, m interface {
	YAML() string
	JSON() ([]byte, error)
}, format string) error {
	text := m.YAML()
	if format == "json" {
		body, err := m.JSON()
		if err != nil {
			return err
		}
		text = string(body) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// webhooksOf returns the name of the webhook configurations of an operator, unless the flags have another one; empty if
// the operator has no name.
func webhooksOf(name string) string {
	if name == "" {
		return ""
	}
	return name + ".kopf.dev"
}

// knownResources returns the resources that selectors are resolved with.
func (f *manifestsFlags) knownResources(ctx context.Context, folders []string) ([]inspect.APIResource, error) {
	if f.context != "" || f.kubeconfig != "" {
		cluster, err := devcluster.Open(ctx, devcluster.Options{
			Provider: devcluster.Context, Context: f.context, Kubeconfig: f.kubeconfig,
			Yes: true, // nothing is changed there
		})
		if err != nil {
			return nil, err
		}
		config, err := cluster.RESTConfig()
		if err != nil {
			return nil, err
		}
		return resources.Served(ctx, config)
	}
	known, err := resources.BuiltIn()
	if err != nil {
		return nil, err
	}
	given, err := apply.Read(f.definitions)
	if err != nil {
		return nil, err
	}
	defined, err := resources.Defined(append(given, definitionsIn(folders)...))
	if err != nil {
		return nil, err
	}
	for _, r := range defined {
		same := func(o inspect.APIResource) bool {
			return o.Group == r.Group && o.Version == r.Version && o.Plural == r.Plural
		}
		if !slices.ContainsFunc(known, same) { // the first definition counts: those given before those found
			known = append(known, r)
		}
	}
	return known, nil
}

// definitionsIn returns the manifests in the folders. Files that are not manifests are ignored, such as
// templates of them: the user has named the folders only.
func definitionsIn(folders []string) []apply.Manifest {
	var all []apply.Manifest
	for _, folder := range folders {
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			files, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				continue // the folder's name is not a valid pattern
			}
			for _, file := range files {
				if found, err := apply.Read([]string{file}); err == nil {
					all = append(all, found...)
				}
			}
		}
	}
	return all
}

// describeOperator builds the operator and runs it to describe its needs.
func describeOperator(ctx context.Context, program *runner.Program, dir string, args []string, known []inspect.APIResource) (_ []inspect.Description, err error) {
	builder, err := runner.NewBuilder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	binary, err := builder.Build(ctx, program)
	if err != nil {
		return nil, err
	}
	return runner.Describe(ctx, binary, dir, args, known)
}

// noScanning is the operator's flag not to watch definitions and namespaces: one that serves namespaces by their names
// has no permissions in the rest of the cluster.
const noScanning = "--no-scanning"

// onlyNamed reports whether an operator serves namespaces by their names alone, so that the manifests have no
// ClusterRole for definitions and namespaces.
func onlyNamed(namespaces []string) bool {
	return len(namespaces) > 0 && !slices.ContainsFunc(namespaces, isNamespacePattern)
}

// scopeArgs returns the operator's flags for the namespaces.
func scopeArgs(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{"--all-namespaces"}
	}
	args := make([]string, len(namespaces))
	for i, namespace := range namespaces {
		args[i] = "--namespace=" + namespace
	}
	return args
}

// warnAssumed warns of resources that are not known.
func warnAssumed(w io.Writer, descriptions []inspect.Description) {
	for _, d := range descriptions {
		for _, name := range d.Assumed {
			fmt.Fprintf(w, "kopf: no definition of %s is known: assuming that this is its plural name, and that it has a status subresource and belongs to namespaces; add --crd with its definition to be sure\n",
				printable.Line(name))
		}
	}
}
