package main

import (
	"context"
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
	chosen, cut, err := readChildren(cmd.Context(), op, parents, selection)
	if _, ok := errors.AsType[*inspect.UnsupportedError](err); ok {
		return fmt.Errorf("%s is of an earlier release, which does not report children; build it with the release of this program", op)
	}
	if err != nil {
		return err
	}
	if err := w.WriteChildren(op.Snapshot, chosen); err != nil {
		return err
	}
	switch {
	case cut:
		warnOfCut(cmd)
	case len(chosen) == 0 && !format.IsStructured():
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: no children")
	}
	return nil
}

// getWithChildren lists the selected objects with their children. Operators of earlier releases report none.
func getWithChildren(cmd *cobra.Command, op runner.RunningOperator, w *listing.Writer, selection listing.Selection) (entries int, err error) {
	var parents []inspect.Ref
	for _, o := range op.Snapshot.Objects {
		if o.Children != nil && selection.Has(o) {
			parents = append(parents, o.Ref)
		}
	}
	switch {
	case len(parents) == 0:
		return w.Write(op.Snapshot)
	case selection.Name == "":
		parents = []inspect.Ref{{}} // a single request reads the children of all objects
	}
	of := selection
	of.State = "" // children belong to objects in any state
	children, cut, err := readChildren(cmd.Context(), op, parents, of)
	if _, ok := errors.AsType[*inspect.UnsupportedError](err); ok {
		return w.Write(op.Snapshot)
	}
	if err != nil {
		return 0, err
	}
	if cut {
		defer warnOfCut(cmd)
	}
	return w.WriteWithChildren(op.Snapshot, children)
}

func warnOfCut(cmd *cobra.Command) {
	fmt.Fprintf(cmd.ErrOrStderr(), "kopf: some children are left out, ready ones first: at most %d of an object are listed\n", inspect.MaxChildren)
}

// readChildren returns the children of the selected objects among the parents, and whether some are left out because an object has
// too many. The zero parent stands for all objects.
func readChildren(ctx context.Context, op runner.RunningOperator, parents []inspect.Ref, selection listing.Selection) (chosen []inspect.Child, cut bool, err error) {
	for _, parent := range parents {
		list, err := op.Client.Children(ctx, parent)
		if err != nil {
			return nil, false, fmt.Errorf("read the children: %w", err)
		}
		selected := listing.SelectChildren(op.Snapshot, list.Children, selection)
		cut = cut || list.Omitted > 0 && hasFullParent(selected)
		chosen = append(chosen, selected...)
	}
	return chosen, cut, nil
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
