package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/internal/gocommand"
	"github.com/kopf-dev/kopf/internal/origin"
	"github.com/kopf-dev/kopf/scaffold"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newInitCommand() *cobra.Command {
	var o scaffold.Options
	namespaced := true
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a new operator, which runs as it is",
		Long: `Write a new operator into a folder (default: the current one): a Go module with handlers,
the definition of their resource, an object to try them with, and tests. Files that exist are
never overwritten. A module that exists is kept.

` + exitCodes,
		Example: `  # An operator for the kind Hello, in the folder hello
  kopf init hello

  # Another resource
  kopf init billing-operator --kind=Invoice --group=billing.example.com --version=v1alpha1

  # An operator whose objects have Deployments
  kopf init web-app --with-children`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = "."
			if len(args) > 0 {
				o.Dir = args[0]
			}
			o.ClusterScoped = !namespaced
			return initOperator(cmd, o)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&o.Kind, "kind", "", "the kind of the resource (default: from the name of the folder)")
	set.StringVar(&o.Group, "group", "example.com", "the group of the resource")
	set.StringVar(&o.Version, "version", "v1", "the version of the resource")
	set.StringVar(&o.Plural, "plural", "", "the name of the resource (default: the plural of the kind, in lower case)")
	set.BoolVar(&namespaced, "namespaced", true, "whether objects of the resource are in namespaces")
	set.BoolVar(&o.WithChildren, "with-children", false, "write an operator that keeps a Deployment for each object")
	set.StringVar(&o.Module, "module", "", "the path of the Go module (default: example.com/ and the name of the folder)")
	for _, flag := range []string{"kind", "group", "version", "plural", "module"} {
		completeWith(cmd, flag)
	}
	return cmd
}

func initOperator(cmd *cobra.Command, o scaffold.Options) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	switch checkout := origin.Checkout(executable); {
	case checkout != "":
		o.SDK = filepath.Join(checkout, "sdk")
	default:
		o.SDKVersion = origin.Version()
	}
	result, err := scaffold.Write(o)
	invalid, isInvalid := errors.AsType[*scaffold.InvalidError](err)
	exists, isExists := errors.AsType[*scaffold.ExistsError](err)
	switch {
	case isInvalid:
		return &usageError{invalid}
	case isExists:
		return &usageError{exists}
	case err != nil:
		return err
	}
	folder := relative(result.Dir)
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "created %s, an operator for the kind %s (%s):\n", printable.Line(folder), result.Kind, result.Module)
	for _, name := range result.Files {
		fmt.Fprintf(out, "  %s\n", name)
	}
	for _, name := range result.Kept {
		fmt.Fprintf(out, "  %s (kept)\n", name)
	}
	switch {
	case o.SDK == "":
		if err := tidy(cmd, result.Dir); err != nil {
			return err
		}
	case slices.Contains(result.Kept, "go.work"):
		fmt.Fprintf(out, "go.work must name the SDK of the checkout:\n  go work use %s\n", shellWord(o.SDK))
	}
	next := "kopf dev ./handlers --apply handlers/"
	if folder != "." {
		next = "cd " + shellWord(folder) + " && " + next
	}
	_, err = fmt.Fprintf(out, "next:\n  %s\n", next)
	return err
}

// tidy downloads the SDK and records the versions of all modules.
func tidy(cmd *cobra.Command, dir string) error {
	fmt.Fprintln(cmd.ErrOrStderr(), "kopf: downloading the SDK (go mod tidy)")
	_, stderr, err := gocommand.Command{Dir: dir}.Run(cmd.Context(), "mod", "tidy")
	if err != nil {
		return fmt.Errorf("download the SDK: %w\n%s\nThe operator is written; run \"go mod tidy\" in %s when the network works", err, strings.TrimSpace(string(stderr)), dir)
	}
	return nil
}

// relative returns a path relative to the current folder, if that is shorter.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// shellWord quotes a word for a shell if it needs quotes.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./~+@%:,=", r)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
