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

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
)

// buildFlags are the flags of kopf build.
type buildFlags struct {
	output    string
	image     string
	layout    string
	platforms []string
}

func newBuildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build PACKAGE...",
		Short: "Build an operator into an executable or a container image",
		Long: `Build an operator into one static executable, which runs without Go and without kopf. It has
the flags of kopf run that configure the operator itself; run it with --help to see them.

With --image, build it into a container image with nothing but this executable, and push the
image with the credentials of "docker login" or similar tools. No container engine is needed.
With --layout, the image is written to a folder instead.

The executable is for this platform, or for the one of GOOS and GOARCH; an image is for Linux.
The same commit and version of Go give the same file and the same image. Name packages as for
kopf run.

` + exitCodes,
		Example: `  # A file called operator in the current folder
  kopf build ./handlers

  # Another name, another platform
  GOOS=linux GOARCH=arm64 kopf build ./handlers -o bin/operator-arm64

  # An image for two platforms, pushed to a registry
  kopf build ./handlers --image=registry.example.com/operator:v1 --platform=linux/amd64,linux/arm64

  # Build, push and deploy exactly this image
  image=$(kopf build ./handlers --image=registry.example.com/operator:v1)
  kopf manifests ./handlers --image="$image" | kubectl apply -f -

  # Show the versions of Go and of all modules in an executable
  go version -m operator`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.image != "" {
				if f.output != "" {
					return usagef("--output excludes --image: use --layout to write the image to a folder")
				}
				return buildImage(cmd, args, &f)
			}
			for _, name := range []string{"layout", "platform"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s needs --image with the name of the image", name)
				}
			}
			return buildOperator(cmd, args, f.output)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVarP(&f.output, "output", "o", "", "the file to write, or the folder for it: an existing one, or a name that ends with a slash (default: operator)")
	set.StringVar(&f.image, "image", "", "the name of a container image to build and push, such as registry.example.com/operator:v1")
	set.StringVar(&f.layout, "layout", "", "with --image: the folder to write the image to, in the layout of OCI, instead of pushing it")
	set.StringSliceVar(&f.platforms, "platform", nil, "with --image: the platforms, such as linux/amd64,linux/arm64 (default: Linux on the architecture of this machine)")
	return cmd
}

func buildOperator(cmd *cobra.Command, patterns []string, output string) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
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
		return fmt.Errorf("create the folder of the file: %w", err)
	}
	if err := buildStatic(cmd, builder, program, runner.Platform{}, path); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}

// outputPath returns the file to write: the output if it is a file name, or else the default
// name in the folder that it names. Folders may not exist yet.
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
		return "", usagef("cannot write to %s: it is a folder; choose another name with --output", path)
	}
	return path, nil
}

// slowBuild is the time after which a running build is explained.
const slowBuild = 3 * time.Second

// buildStatic builds the program, and prints the progress of a slow build.
func buildStatic(cmd *cobra.Command, builder *runner.Builder, program *runner.Program, platform runner.Platform, path string) error {
	const why = "building the operator; the first build also compiles its dependencies"
	var mu sync.Mutex
	line := newProgressLine(cmd.ErrOrStderr())
	explained := false
	slow := time.AfterFunc(slowBuild, func() {
		mu.Lock()
		defer mu.Unlock()
		explained = true
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: "+why)
	})
	defer func() {
		slow.Stop()
		mu.Lock()
		defer mu.Unlock()
		line.end()
	}()
	return builder.BuildStatic(cmd.Context(), program, platform, path, func(packages int) {
		mu.Lock()
		defer mu.Unlock()
		if explained {
			line.report(devcluster.Progress{Phase: devcluster.PhaseCompile, Message: "compiling", Done: packages})
		}
	})
}
