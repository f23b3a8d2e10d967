package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// getChildren lists the children of the selected objects.
func getChildren(cmd *cobra.Command, op runner.RunningOperator, w *listing.Writer, selection listing.Selection, format listing.Format) error {
	parents := []inspect.Ref{{}} // all objects
	if selection.Name != "" {
		if parents = listing.Refs(op.Snapshot, selection); len(parents) == 0 {
			return fmt.Errorf("%s has no resource %q; kopf get resources lists those that it has", op, selection.Resource+"/"+selection.Name)
		}
	}
	var chosen []inspect.Child
	var cut bool
	for _, parent := range parents {
		list, err := op.Client.Children(cmd.Context(), parent)
		if _, ok := errors.AsType[*inspect.UnsupportedError](err); ok {
			return fmt.Errorf("%s is of an earlier release, which does not report children; build it with the release of this program", op)
		}
		if err != nil {
			return fmt.Errorf("read the children: %w", err)
		}
		selected := listing.SelectChildren(op.Snapshot, list.Children, selection)
		cut = cut || list.Omitted > 0 && hasFullParent(selected)
		chosen = append(chosen, selected...)
	}
	if err := w.WriteChildren(op.Snapshot, chosen); err != nil {
		return err
	}
	switch {
	case cut:
		fmt.Fprintf(cmd.ErrOrStderr(), "kopf: some children are left out, ready ones first: at most %d of an object are listed\n", inspect.MaxChildren)
	case len(chosen) == 0 && (format == listing.Table || format == listing.Wide):
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: no children")
	}
	return nil
}

// hasFullParent reports whether an object has the greatest number of listed children.
func hasFullParent(children []inspect.Child) bool {
	numbers := map[inspect.Ref]int{}
	for i := range children {
		if numbers[children[i].Parent]++; numbers[children[i].Parent] == inspect.MaxChildren {
			return true
		}
	}
	return false
}
