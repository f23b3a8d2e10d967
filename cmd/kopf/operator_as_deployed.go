package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/asdeployed"
	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/internal/workdir"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// asDeployed runs an operator with the permissions that it would have in the cluster.
type asDeployed struct {
	dir        string
	patterns   []string // patterns of the operator's packages, from the command line
	namespaces []string // namespaces that the operator serves
	args       []string // the operator's flags

	// config returns the configuration of the open cluster.
	config func() (*rest.Config, error)

	// say shows a missing permission to the user.
	say func(text string)

	mu        sync.Mutex
	operators []inspect.Description
	denied    map[asdeployed.Denial]bool
	grant     *asdeployed.Grant
	proxy     *asdeployed.Proxy
	folder    *workdir.Dir
}

// newAsDeployed returns nil unless the flags ask for it.
func newAsDeployed(cmd *cobra.Command, f *operatorFlags, dir string, patterns []string, cluster *operatorCluster, say func(string)) *asDeployed {
	if !f.asDeployed {
		return nil
	}
	args := f.scope(cmd)
	if f.inspect != "" {
		args = append(args, "--inspect="+f.inspect)
	}
	return &asDeployed{dir: dir, patterns: patterns, namespaces: f.namespaces, args: args, config: cluster.restConfig, say: say}
}

// connector returns connect, or what connects an operator with the permissions of the user.
func (a *asDeployed) connector(cluster *operatorCluster) func(context.Context, string, runner.Cluster) (runner.Cluster, error) {
	if a == nil {
		return cluster.connect
	}
	return a.connect
}

// connect asks the built operator for its permissions, creates the roles, and returns the cluster with the deployed
// operator's credentials. It replaces the roles of an earlier call.
func (a *asDeployed) connect(ctx context.Context, binary string, cluster runner.Cluster) (runner.Cluster, error) {
	if err := a.close(ctx); err != nil {
		return cluster, err
	}
	config, err := a.config()
	if err != nil {
		return cluster, err
	}
	known, err := resources.Served(ctx, config)
	if err != nil {
		return cluster, err
	}
	program, err := runner.Load(ctx, a.dir, a.patterns)
	if err != nil {
		return cluster, err
	}
	name := moduleName(program.Module) + "-as-deployed" // the roles of a real deployment stay as they are
	operators, err := runner.Describe(ctx, binary, a.dir, append(slices.Clone(a.args), "--webhook-managed="+webhooksOf(name)), known)
	if err != nil {
		return cluster, err
	}
	inSession(operators)
	m, err := manifests.New(manifests.Options{Name: name, Served: a.namespaces, Operators: operators})
	if err != nil {
		return cluster, err
	}
	a.mu.Lock()
	a.operators, a.denied = operators, nil // the new program may have permissions that the previous one lacked
	a.mu.Unlock()
	if a.grant, err = asdeployed.NewGrant(ctx, config, m); err != nil {
		return cluster, err
	}
	if a.folder, err = workdir.ForConnection(); err != nil {
		return cluster, err
	}
	if a.proxy, err = asdeployed.NewProxy(config, asdeployed.User{Name: m.User(), Namespace: m.Namespace()}, a.folder.Path, a.deny); err != nil {
		return cluster, err
	}
	cluster.Kubeconfig, cluster.Context = a.proxy.Kubeconfig, asdeployed.Context
	return cluster, nil
}

// inSession permits the operators to write webhook configurations of any name: in development, each session has
// configurations of its own, whose name is not known before.
func inSession(operators []inspect.Description) {
	for _, o := range operators {
		for i := range o.Permissions {
			if p := &o.Permissions[i]; p.Group == "admissionregistration.k8s.io" {
				p.Names = nil
			}
		}
	}
}

// deny reports a denied request, once for each kind.
func (a *asDeployed) deny(d asdeployed.Denial) {
	a.mu.Lock()
	operators, told := a.operators, a.denied[d]
	if a.denied == nil {
		a.denied = map[asdeployed.Denial]bool{}
	}
	missing := !d.Expected(operators)
	if missing {
		a.denied[d] = true
	}
	a.mu.Unlock()
	if missing && !told {
		a.say(d.Explain(operators))
	}
}

// report writes a text about all that was denied. It returns an error if there is something.
func (a *asDeployed) report(w io.Writer) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.denied) == 0 {
		return nil
	}
	text := asdeployed.Report(slices.Collect(maps.Keys(a.denied)), a.operators)
	fmt.Fprintf(w, "kopf: %s\n", printable.Lines(strings.TrimSpace(text)))
	if len(a.denied) == 1 {
		return errors.New("the deployed operator would lack a permission, see above")
	}
	return fmt.Errorf("the deployed operator would lack %d permissions, see above", len(a.denied))
}

// close ends the proxy and deletes the roles.
func (a *asDeployed) close(ctx context.Context) error {
	if a == nil {
		return nil
	}
	var err error
	if a.proxy != nil {
		err = a.proxy.Close()
		a.proxy = nil
	}
	if a.folder != nil {
		err = errors.Join(err, a.folder.Remove())
		a.folder = nil
	}
	if a.grant != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, a.grant.Revoke(ctx))
		a.grant = nil
	}
	return err
}
