package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand returns the command that writes the man pages for releases. It is hidden: users have the
// pages already, or --help.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "man FOLDER",
		Short:             "Write the man pages of all commands",
		Hidden:            true,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return fmt.Errorf("create the folder of the man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			date := time.Unix(0, 0).UTC() // the same pages in each build
			header := &doc.GenManHeader{Section: "1", Source: "kopf", Manual: "Kopf", Date: &date}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the man pages: %w", err)
			}
			return nil
		},
	}
}
