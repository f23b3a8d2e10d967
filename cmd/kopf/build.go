package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

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

The file is for this platform, or for that of GOOS and GOARCH. The same commit, built by
the same version of Go, gives the same file. Packages are named as for kopf run.

` + exitCodes,
		Example: `  # A file called operator in the current folder
  kopf build ./handlers

  # Another name, another platform
  GOOS=linux GOARCH=arm64 kopf build ./handlers -o bin/operator-arm64

  # What is in a file: the versions of Go and of all modules
  go version -m operator`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return buildOperator(cmd, args, output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write, or a folder for it: one that exists, or a name with a slash at its end (default: operator)")
	return cmd
}

func buildOperator(cmd *cobra.Command, patterns []string, output string) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current folder: %w", err)
	}
	path, err := outputPath(dir, output, os.Getenv("GOOS"))
	if err != nil {
		return err
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
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("making the folder of the file: %w", err)
	}
	if err := buildStatic(cmd, builder, program, path); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}

// outputPath is the file to write: as named, or by its default name in the folder that is named,
// which is the current one if none is. Folders need not be there yet.
func outputPath(dir, output, goos string) (string, error) {
	name := "operator"
	if goos == "windows" {
		name += ".exe"
	}
	path := output
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() || strings.HasSuffix(output, string(filepath.Separator)) {
		path = filepath.Join(path, name)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", usagef("the file would be called %s, and there is a folder of that name: name it with --output", path)
	}
	return path, nil
}

// slowBuild is when it must be said why nothing seems to happen.
const slowBuild = 3 * time.Second

// buildStatic builds, and tells of its progress if it takes long.
func buildStatic(cmd *cobra.Command, builder *runner.Builder, program *runner.Program, path string) error {
	const why = "building the operator; the first time, all that it depends on is compiled, too"
	var mu sync.Mutex
	line := newProgressLine(cmd.ErrOrStderr())
	said := false
	slow := time.AfterFunc(slowBuild, func() {
		mu.Lock()
		defer mu.Unlock()
		said = true
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: "+why)
	})
	defer func() {
		slow.Stop()
		mu.Lock()
		defer mu.Unlock()
		line.end()
	}()
	return builder.BuildStatic(cmd.Context(), program, path, func(packages int) {
		mu.Lock()
		defer mu.Unlock()
		if said && line.live {
			line.print(clearLine + fmt.Sprintf("compiling (%d packages)", packages))
		}
	})
}
