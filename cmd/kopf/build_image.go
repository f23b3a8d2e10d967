package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/deploy/image"
	"github.com/kopf-dev/kopf/runner"
)

// buildImage builds an operator into an image, and pushes it or writes it to a folder. It prints where the
// image is: the name with the digest, or the folder.
func buildImage(cmd *cobra.Command, patterns []string, f *buildFlags) (err error) {
	reference, err := image.ParseReference(f.image)
	if err != nil {
		return usagef("--image: %w", err)
	}
	platforms, err := parsePlatforms(f.platforms)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
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
	var executables []image.Executable
	for _, p := range platforms {
		path := filepath.Join(builder.Dir(), p.OS+"-"+p.Arch)
		if err := buildStatic(cmd, builder, program, p, path); err != nil {
			return err
		}
		executables = append(executables, image.Executable{Platform: image.Platform(p), Path: path})
	}
	built, err := image.New(executables)
	if err != nil {
		return err
	}
	at := f.layout
	if at != "" {
		err = image.WriteLayout(at, reference, built)
	} else {
		at, err = image.Push(cmd.Context(), reference, built)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), at)
	return err
}

// parsePlatforms parses the values of --platform, each once.
func parsePlatforms(values []string) ([]runner.Platform, error) {
	if len(values) == 0 {
		arch := os.Getenv("GOARCH")
		if arch == "" {
			arch = runtime.GOARCH
		}
		return []runner.Platform{{OS: "linux", Arch: arch}}, nil
	}
	var platforms []runner.Platform
	for _, value := range values {
		system, arch, ok := strings.Cut(value, "/")
		if !ok || system != "linux" || arch == "" || strings.Contains(arch, "/") {
			return nil, usagef("--platform=%s: want one such as linux/amd64", value)
		}
		if p := (runner.Platform{OS: system, Arch: arch}); !slices.Contains(platforms, p) {
			platforms = append(platforms, p)
		}
	}
	return platforms, nil
}
