package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/rehandle"
)

// rehandleFlags are the flags of kopf rehandle.
type rehandleFlags struct {
	cluster           operatorFlags // only the fields cluster, context and kubeconfig are used
	handler, prefix   string
	namespaces        []string
	selector          string
	rate              float64
	parallel          int
	failures          int
	stages            []float64
	hold              time.Duration
	confirm, withdraw bool
}

func newRehandleCommand() *cobra.Command {
	var f rehandleFlags
	cmd := &cobra.Command{
		Use:   "rehandle PACKAGE...",
		Short: "Call a changed handler again for existing objects",
		Long: `Call a handler again for the objects that another version of it has handled. An upgraded operator calls
no handler for objects that have not changed. To handle them with the new code as well, give the
handler a version, kopf.Version("2"), deploy the operator, and run this command.

The command marks the objects, a few at a time, and the operator calls the handler for each mark, with
the retries of the handler. All state is on the objects: if the command ends early, it removes the marks
of the objects that are not handled yet, and the next run continues. It stops, and the exit code is 1,
when the version has failed permanently on too many objects.

Without --confirm, the command only counts the objects. It builds the operator to learn its handlers.
Name packages as for kopf run.

` + exitCodes,
		Example: `  # Count the objects by their state
  kopf rehandle ./handlers --context=staging

  # One in a hundred first, then one in ten after ten minutes, and then the rest
  kopf rehandle ./handlers --context=staging --stages=1,10,100 --hold=10m --confirm

  # Only a canary, which the next run does not repeat
  kopf rehandle ./handlers --context=staging --handler=create --stages=1 --confirm`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return rehandleObjects(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.cluster.cluster, "cluster", devcluster.Auto, "the cluster: auto (the cluster of the project), embedded, k3d, context, or a name of kopf cluster list")
	set.StringVar(&f.cluster.context, "context", "", "the context of the kubeconfig to use (implies --cluster=context)")
	set.StringVar(&f.cluster.kubeconfig, "kubeconfig", "", "the kubeconfig file to use (implies --cluster=context)")
	set.StringVar(&f.handler, "handler", "", "the id of the handler (default: the only one with a version)")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "only the objects of a namespace (repeatable; default: the whole cluster)")
	set.StringVarP(&f.selector, "selector", "l", "", "only the objects with labels, such as app=shop")
	set.Float64Var(&f.rate, "rate", 5, "the most objects to mark in a second")
	set.IntVar(&f.parallel, "parallel", 10, "the most objects that are marked and not handled yet")
	set.IntVar(&f.failures, "max-failures", 3, "stop when the version has failed on so many objects, also in earlier runs")
	set.Float64SliceVar(&f.stages, "stages", []float64{100}, "the percentages of the objects to handle, one after the other; a failure ends the command after its stage")
	set.DurationVar(&f.hold, "hold", 0, "the pause between two stages")
	set.StringVar(&f.prefix, "prefix", "", "the prefix of the operator's annotations, if a startup handler sets another one")
	set.BoolVar(&f.withdraw, "withdraw", false, "remove the marks of the objects that are not handled yet, such as after the command was killed")
	set.BoolVar(&f.confirm, "confirm", false, "mark the objects, or remove the marks")
	registerCompletion(cmd, "cluster", completeProvidersAndClusters)
	registerCompletion(cmd, "context", f.cluster.completeContexts)
	return cmd
}

// check rejects flags that make no sense.
func (f *rehandleFlags) check() error {
	for _, n := range f.namespaces {
		if strings.TrimSpace(n) == "" || isNamespacePattern(n) {
			return usagef("--namespace=%s: want the name of a namespace", n)
		}
	}
	ascending := slices.IsSortedFunc(f.stages, func(a, b float64) int { return cmp.Or(cmp.Compare(a, b), -1) })
	switch {
	case !(f.rate > 0 && f.rate <= 1000):
		return usagef("--rate=%g: want a number of objects above 0, and at most 1000", f.rate)
	case f.parallel < 1:
		return usagef("--parallel=%d: want at least 1", f.parallel)
	case f.failures < 1:
		return usagef("--max-failures=%d: want at least 1", f.failures)
	case f.hold < 0:
		return usagef("--hold=%s: want a duration that is not negative", f.hold)
	case len(f.stages) == 0 || !ascending || !(f.stages[0] > 0) || !(f.stages[len(f.stages)-1] <= 100):
		return usagef("--stages: want ascending percentages above 0 and up to 100, such as 1,10,100")
	}
	return nil
}

func rehandleObjects(cmd *cobra.Command, f *rehandleFlags, patterns []string) error {
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
	return withDescribed(cmd, &f.cluster, program, dir, scopeArgs(f.namespaces), func(d *describedOperators) error {
		target, err := f.target(d.operators, d.served.Resources)
		if err != nil {
			return fmt.Errorf("rehandle: %w", err)
		}
		err = rehandle.Run(cmd.Context(), d.config, target, rehandle.Options{
			Confirm: f.confirm, Withdraw: f.withdraw, Rate: f.rate, Parallel: f.parallel, MaxFailures: f.failures, Stages: f.stages, Hold: f.hold,
			Note: func(text string) { fmt.Fprintln(cmd.OutOrStdout(), text) },
		})
		if err != nil {
			return fmt.Errorf("rehandle: %w", err)
		}
		if !f.confirm {
			what := "mark the objects that are left"
			if f.withdraw {
				what = "remove the marks"
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: nothing was changed; add --confirm to %s\n", what)
		}
		return nil
	})
}

// target returns the handler and the objects that the flags select.
func (f *rehandleFlags) target(operators []inspect.Description, cluster []inspect.APIResource) (rehandle.Target, error) {
	t, err := rehandle.NewTarget(operators, cluster, f.handler)
	t.Namespaces, t.LabelSelector, t.Prefix = f.namespaces, f.selector, cmp.Or(f.prefix, t.Prefix)
	return t, err
}
