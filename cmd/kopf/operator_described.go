package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/sdk/uninstall"
)

// describedOperators are the operators of a program, for the cluster that a command changes.
type describedOperators struct {
	operators []inspect.Description
	config    *rest.Config
	served    uninstall.Discovery
}

// withDescribed opens the cluster of the flags, describes the operators of the program for it, and calls a function with them. The flag
// --confirm of the command is the consent to use the cluster.
func withDescribed(cmd *cobra.Command, flags *operatorFlags, program *runner.Program, dir string, args []string, do func(*describedOperators) error) (err error) {
	ctx := cmd.Context()
	line := newProgressLine(cmd.ErrOrStderr())
	flags.yes = true
	cluster, err := devcluster.Open(ctx, flags.options(line.report))
	line.end()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	var d describedOperators
	if d.config, err = cluster.RESTConfig(); err != nil {
		return err
	}
	if d.served, err = uninstall.Discover(ctx, d.config); err != nil {
		return err
	}
	if d.operators, err = describeOperator(ctx, program, dir, args, d.served.Resources); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: cluster: %s\n", printable.Line(cluster.Server))
	return do(&d)
}
