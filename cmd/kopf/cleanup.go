package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tunnel"
)

func newCleanupCommand() *cobra.Command {
	var f operatorFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove the leftovers of killed sessions from a cluster",
		Long: `Remove webhook configurations and relays that killed sessions of kopf dev and kopf run left
in a cluster. Each carries the mark of a session. A session counts as dead if its process
on this machine has ended, or if it has not renewed its mark for some minutes. Objects
without a mark are not touched.

kopf dev and kopf run do the same when they start. Until then, such webhooks block no
requests: their failures are ignored.

The flags select the cluster, as for kopf dev.`,
		Example: `  # See what would be removed
  kopf cleanup --dry-run

  # In one of your clusters
  kopf cleanup --context=staging --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkCluster(cmd.Context()); err != nil {
				return err
			}
			return cleanUp(cmd, &f, dryRun)
		},
	}
	f.addCluster(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list what would be removed")
	return cmd
}

// cleanUp removes the leftovers from the cluster that the flags select, and prints them.
func cleanUp(cmd *cobra.Command, f *operatorFlags, dryRun bool) (err error) {
	ctx := cmd.Context()
	line := newProgressLine(cmd.ErrOrStderr())
	cluster, err := devcluster.Open(ctx, f.options(line.report))
	line.end()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, cluster.Close(ctx))
	}()
	config, err := cluster.RESTConfig()
	if err != nil {
		return err
	}
	found, failed := tunnel.Leftovers(ctx, config)
	verb := "would remove"
	if !dryRun {
		verb = "removed"
		removed, err := tunnel.Remove(ctx, config, found)
		found, failed = removed, errors.Join(failed, err)
	}
	printLeftovers(cmd.OutOrStdout(), verb, found)
	if failed == nil && len(found) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "nothing to remove in %s\n", printable.Line(cluster.Name))
	}
	return failed
}

func printLeftovers(w io.Writer, verb string, found []tunnel.Leftover) {
	for _, l := range found {
		fmt.Fprintln(w, describeLeftover(verb, l))
	}
}

// describeLeftover returns a line about a leftover.
func describeLeftover(verb string, l tunnel.Leftover) string {
	return printable.Line(fmt.Sprintf("%s %s of session %s: %s", verb, l, l.Session, l.Reason))
}

// cleanUpBefore removes the leftovers of dead sessions before a new one starts. Without the permission to list them,
// the session continues, because leftovers block no requests.
func (c *operatorCluster) cleanUpBefore(ctx context.Context, say func(verbose bool, line string)) {
	target, err := c.target()
	if err == nil {
		var found []tunnel.Leftover
		found, err = tunnel.Leftovers(ctx, target.Config)
		removed, failed := tunnel.Remove(ctx, target.Config, found)
		for _, l := range removed {
			say(false, describeLeftover("removed", l))
		}
		err = errors.Join(err, failed)
	}
	if err != nil && ctx.Err() == nil {
		say(true, "cannot remove the leftovers of previous sessions from the cluster: "+err.Error())
	}
}
