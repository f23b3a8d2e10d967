package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newResumeCommand() *cobra.Command {
	var f peeringFlags
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "End kopf freeze",
		Long: `Remove a record from a peering object: that of kopf freeze with the same identity, which is that of the
user and the host unless --id names another. The operators that it paused resume at once.
If there is no such record, the exit code is 1.

` + exitCodes,
		Example: `  kopf resume
  kopf resume -n app --id=alice@laptop`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd, "RESUME"); err != nil {
				return err
			}
			return resume(cmd, &f)
		},
	}
	f.addScope(cmd, peering.DefaultName, "the name of the peering object")
	f.addID(cmd)
	return cmd
}

func resume(cmd *cobra.Command, f *peeringFlags) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	client, objects, err := f.find(ctx)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	defer client.Close()
	identity := f.identity()
	var idle []string
	for _, o := range objects {
		was := o.Peer(identity) != nil
		// Remove it in any case: it may have been written since the objects were read.
		if err := client.Write(ctx, o, &peering.Peer{Identity: identity}); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
		switch {
		case was:
			fmt.Fprintf(out, "%s is no longer frozen by %s\n", printable.Line(o.String()), printable.Line(identity))
		case len(o.Peers) == 0:
			idle = append(idle, fmt.Sprintf("%s was not frozen by %s; it has no operators", printable.Line(o.String()), printable.Line(identity)))
		default:
			idle = append(idle, fmt.Sprintf("%s was not frozen by %s; name one of these with --id: %s", printable.Line(o.String()), printable.Line(identity), listPeers(o.Peers)))
		}
	}
	if len(idle) == len(objects) {
		return fmt.Errorf("resume: nothing has ended: %s", strings.Join(idle, "\n"))
	}
	for _, line := range idle {
		fmt.Fprintln(out, line)
	}
	return nil
}
