package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/runner"
)

func newBuildCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "build PACKAGE...",
		Short: "Build an operator into a file to be deployed",
		Long: `Build an operator into one static file that runs without Go and without kopf: in an
empty container image, for example. It takes the flags of kopf run that are about the
operator itself; see --help of what was built.

The file is for this platform, or for that of GOOS and GOARCH. Packages are named as for
kopf run.`,
		Example: `  kopf build ./handlers -o bin/operator
  GOOS=linux GOARCH=arm64 kopf build ./handlers -o operator-arm64`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return buildOperator(cmd, args, output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "operator", "the file to write")
	return cmd
}

func buildOperator(cmd *cobra.Command, patterns []string, output string) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current folder: %w", err)
	}
	output, err = filepath.Abs(output)
	if err != nil {
		return fmt.Errorf("finding the folder of the output: %w", err)
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return usagef("--output: %s is a folder; name a file in it", output)
	}
	program, err := runner.Load(cmd.Context(), dir, patterns)
	if err != nil {
		return err
	}
	builder, err := runner.NewBuilder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	if err := builder.BuildStatic(cmd.Context(), program, output); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), output)
	return err
}
