package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
)

func newClusterPrepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Fetch or build the program of embedded clusters ahead of time",
		Long: `Fetch the program of embedded clusters ahead of time, or build it, and print its path.

This happens otherwise on first use. Do it ahead of time in images for CI, and before tests that
use the package kopftest. KOPF_RELEASES names a mirror to fetch it from, or is "off" to build it.`,
		Example:           "  kopf cluster prepare\n  KOPF_CONTROLPLANE=$(kopf cluster prepare) go test ./...",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			line := newProgressLine(cmd.ErrOrStderr())
			program, err := devcluster.Prepare(cmd.Context(), devcluster.Options{Progress: line.report})
			line.end()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), program)
			return err
		},
	}
}
