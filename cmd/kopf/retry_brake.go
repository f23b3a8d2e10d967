package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// releaseBrake continues the pruning of children that has stopped, for the objects of a kind or of all kinds, in the only operator
// that has stopped. Unread is why other operators cannot be read.
func releaseBrake(ctx context.Context, cmd *cobra.Command, f *retryFlags, kind string, operators []runner.RunningOperator, unread error) error {
	if kind != "" {
		if err := checkKind(operators, unread, kind); err != nil {
			return err
		}
	}
	var braked []runner.RunningOperator
	var resources []string // keys of the resources of the parents
	var pruned []string    // plurals of the children
	for _, op := range operators {
		if of, children := brakedResources(op.Snapshot, kind); len(of) > 0 {
			braked, resources, pruned = append(braked, op), of, children
		}
	}
	switch len(braked) {
	case 0:
		if unread != nil {
			return withUnread(fmt.Errorf("retry --brake: the operators that can be read prune"), unread)
		}
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to continue: no pruning has stopped")
		return nil
	case 1:
	default:
		return fmt.Errorf("retry --brake: several operators have stopped; name one with %s:%s", f.choice.waysToChoose(braked), listOperators(braked))
	}
	for _, resource := range resources {
		if err := braked[0].Client.Do(ctx, inspect.Intent{Kind: inspect.IntentUnbrake, Value: resource}); err != nil {
			return fmt.Errorf("retry --brake: %w", err)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "continuing to prune %s\n", strings.Join(pruned, ", "))
	return nil
}

// brakedResources returns the keys of the resources whose objects keep children because of the brake, and the plurals of these
// children.
func brakedResources(s *inspect.Snapshot, kind string) (parents, children []string) {
	for _, b := range explain.Brakes(s, kind) {
		parents = append(parents, b.Resource)
		for _, k := range b.Kept {
			children = append(children, k.Plural)
		}
	}
	slices.Sort(children)
	return parents, slices.Compact(children)
}
