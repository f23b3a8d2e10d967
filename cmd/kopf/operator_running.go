package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// operatorChoice chooses among running operators: the one at the address of an inspector, or the operators of a project on
// this machine. The default project is the one of the current folder; if it has no running operator, the choice is every
// operator on this machine.
type operatorChoice struct {
	inspect, project string

	// ways are the flags and arguments by which a command chooses, for messages.
	ways []string
}

// flagProject is the name of a flag.
const flagProject = "--project"

// addProject adds the flag --project. The argument address is the command's word for an operator's address.
func (c *operatorChoice) addProject(cmd *cobra.Command, address string) {
	c.ways = []string{flagProject, address}
	cmd.Flags().StringVar(&c.project, "project", "", "the operator of a project on this machine: the name of the project's folder, or a path such as ./hello (default: that of the current folder, if it runs)")
	registerCompletion(cmd, "project", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		operators, err := runner.RunningOperators(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return completions(projectNames(operators))
	})
}

// add adds the flags --inspect and --project.
func (c *operatorChoice) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.inspect, "inspect", "", "the address of the operator's inspector: unix:PATH or tcp:127.0.0.1:PORT (KOPF_INSPECTOR_TOKEN has its token)")
	c.addProject(cmd, "--inspect")
}

// operators returns the operators that are chosen. There is at least one. Unread is why others of the choice cannot be
// read.
func (c operatorChoice) operators(ctx context.Context) (operators []runner.RunningOperator, unread, err error) {
	if c.inspect != "" {
		op, err := c.operatorAtAddress(ctx)
		return []runner.RunningOperator{op}, nil, err
	}
	running, err := runner.RunningOperators(ctx)
	if err != nil {
		return nil, nil, err
	}
	chosen, err := c.ofProject(running)
	if err != nil {
		return nil, nil, err
	}
	operators, unread = readable(chosen)
	switch {
	case len(operators) > 0:
		return operators, unread, nil
	case unread != nil:
		return nil, nil, unread
	}
	return nil, nil, errors.New("no operator runs on this machine; start it with kopf run or kopf dev, or name the address of a deployed one with --inspect")
}

func (c operatorChoice) operatorAtAddress(ctx context.Context) (runner.RunningOperator, error) {
	if c.project != "" {
		return runner.RunningOperator{}, usagef("--inspect excludes --project: use one or the other")
	}
	if _, err := inspect.Dial(c.inspect); err != nil { // Dial only parses the address
		return runner.RunningOperator{}, usagef("--inspect: %w", err)
	}
	op, err := runner.ConnectOperator(ctx, c.inspect)
	if err != nil && isUnreachable(err) {
		return op, fmt.Errorf("%w; is it running?", err)
	}
	return op, err // it has answered: do not ask whether it is running
}

// ofProject returns the operators of the project, or all if none is named and none is of the current folder.
func (c operatorChoice) ofProject(running []runner.RunningOperator) ([]runner.RunningOperator, error) {
	of := func(project string) []runner.RunningOperator {
		return slices.DeleteFunc(slices.Clone(running), func(op runner.RunningOperator) bool { return project == "" || op.Project != project })
	}
	if c.project == "" {
		if own := of(currentProject()); len(own) > 0 {
			return own, nil
		}
		return running, nil
	}
	var named []runner.RunningOperator
	if isPath(c.project) {
		folder, err := filepath.Abs(c.project)
		if err != nil {
			return nil, usagef("--project=%s: %w", c.project, err)
		}
		named = of(devcluster.ProjectOf(folder))
	} else {
		for _, op := range running {
			if op.Project != "" && filepath.Base(op.Project) == c.project {
				named = append(named, op)
			}
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	known := projectNames(running)
	hint := didYouMean(c.project, known)
	switch {
	case len(known) == 0:
		hint = "; start it with kopf run or kopf dev"
	case hint == "":
		hint = "; there are " + strings.Join(known, ", ")
	}
	return nil, fmt.Errorf("--project=%s: no operator of this project runs on this machine%s", c.project, hint)
}

// isPath reports whether the value of --project is a path, and not a name.
func isPath(project string) bool {
	return project == "." || project == ".." || strings.ContainsRune(project, filepath.Separator)
}

// projectNames returns the names of the projects of operators, in order.
func projectNames(operators []runner.RunningOperator) []string {
	var names []string
	for _, op := range operators {
		if op.Project != "" {
			names = append(names, filepath.Base(op.Project))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readable returns the operators that can be read, and why the others cannot.
func readable(operators []runner.RunningOperator) (read []runner.RunningOperator, unread error) {
	var failed []error
	for _, op := range operators {
		if op.Err != nil {
			failed = append(failed, op.Err)
			continue
		}
		read = append(read, op)
	}
	return read, errors.Join(failed...)
}

// withUnread adds to an error why operators cannot be read, if there are any.
func withUnread(err, unread error) error {
	if unread == nil {
		return err
	}
	return fmt.Errorf("%w\nothers cannot be read: %w", err, unread)
}

// one returns the only operator that is chosen.
func (c operatorChoice) one(ctx context.Context) (runner.RunningOperator, error) {
	operators, unread, err := c.operators(ctx)
	switch {
	case err != nil:
		return runner.RunningOperator{}, err
	case len(operators) > 1 || unread != nil:
		err := errors.New("several operators run on this machine; name one with " + c.waysToChoose(operators) + ":" + listOperators(operators))
		return runner.RunningOperator{}, withUnread(err, unread)
	}
	return operators[0], nil
}

// waysToChoose returns the flags and arguments by which operators differ.
func (c operatorChoice) waysToChoose(operators []runner.RunningOperator) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.ways), func(way string) bool {
		return way == flagProject && len(projectNames(operators)) < 2
	}), " or ")
}

// isUnreachable reports whether an error means that no process listens at an address.
func isUnreachable(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}
