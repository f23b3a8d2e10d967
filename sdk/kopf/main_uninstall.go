package kopf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/uninstall"
)

// uninstallCommand is the first argument that makes the program remove the operator's leftovers from the cluster.
const uninstallCommand = "uninstall"

// uninstallFlags are the additional flags of "uninstall".
type uninstallFlags struct {
	dryRun      bool
	finalizer   string
	deployment  string // NAMESPACE/NAME
	stopTimeout time.Duration
}

// add adds the flags, and hides operator flags that have no effect on "uninstall". They are still accepted, so that users
// can pass the flags of the Deployment.
func (f *uninstallFlags) add(set *pflag.FlagSet) {
	for _, name := range []string{
		"watch-label-selector", "priority", "dev", "identity", "log-prefix", "no-log-prefix", "log-refkey", "inspect", "liveness", "no-scanning",
		"webhook-listen", "webhook-url", "webhook-service", "webhook-ca", "webhook-cert", "webhook-key", "webhook-client-ca",
		"webhook-dump-ca", "webhook-prefix", "webhook-dev",
	} {
		set.Lookup(name).Hidden = true
	}
	set.BoolVar(&f.dryRun, "dry-run", false, "change nothing, and only list the leftovers")
	set.StringVar(&f.finalizer, "finalizer", "", "the finalizer, if a startup handler sets another one")
	set.StringVar(&f.deployment, "deployment", "", "stop this Deployment first, as NAMESPACE/NAME, and remove the records of its pods from the peering")
	set.DurationVar(&f.stopTimeout, "stop-timeout", 5*time.Minute, "how long to wait for its pods to end")
}

func (f *uninstallFlags) check() error {
	namespace, name, both := strings.Cut(f.deployment, "/")
	switch {
	case f.deployment != "" && (!both || namespace == "" || name == ""):
		return fmt.Errorf("--deployment=%s: want NAMESPACE/NAME", f.deployment)
	case f.stopTimeout <= 0:
		return errors.New("--stop-timeout: must be more than 0")
	}
	return nil
}

// run deletes the operator's finalizers, webhook configurations, peering records and leases. It does not call the
// startup handlers, so it ignores settings that they change.
func (f *uninstallFlags) run(ctx context.Context, o *Operator, out io.Writer, note func(string)) error {
	settings := o.settings()
	config := o.config(&settings)
	config.Logins = o.logins()
	logins, err := engine.Connect(ctx, config)
	if err != nil {
		return err
	}
	defer logins.Close()
	cluster, err := uninstall.Discover(ctx, logins.RESTConfig())
	if err != nil {
		return err
	}
	d, err := engine.Describe(config, cluster.Resources)
	if err != nil {
		return fmt.Errorf("describe the operator: %w", err)
	}
	for _, u := range d.Unserved {
		if u.Reason == inspect.UnservedUnresolved {
			note(fmt.Sprintf("the cluster does not have the resource %s: no object of it can have the finalizer", u.Selector))
		}
	}
	target := uninstall.NewTarget(d, cluster)
	target.Finalizer = cmp.Or(f.finalizer, target.Finalizer)
	target.DeploymentNamespace, target.Deployment, _ = strings.Cut(f.deployment, "/")
	target.LeaseNamespace = cmp.Or(target.LeaseNamespace, target.DeploymentNamespace, logins.Namespace(), "default")
	options := uninstall.Options{DryRun: f.dryRun, Out: out, Note: note}
	if target.Deployment != "" {
		options.StopTimeout = f.stopTimeout
	}
	found, err := uninstall.Run(ctx, logins.RESTConfig(), target, options)
	switch {
	case err != nil:
		return err
	case f.dryRun && found > 0:
		note("nothing was changed; run it without --dry-run to remove all of this")
	case !f.dryRun:
		note("nothing of the operator is left")
	}
	return nil
}

const uninstallUsage = `Usage: %s [flags]

It removes the operator's leftovers from the cluster: the configurations of its webhooks, its
finalizers, its records in peering objects, and its leases. Objects created by its handlers
are kept. It does not run the operator, whose startup handlers are not called. Give it the
flags that the operator runs with.

Flags:
%s
Exit codes:
  0  nothing is left, or this was a dry run
  1  something is left; standard error says what, and it can be run again
  2  the flags are wrong, or contradict each other
`
