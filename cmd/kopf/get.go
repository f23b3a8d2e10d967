package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// getFlags are the flags of kopf get.
type getFlags struct {
	output, namespace, inspect string
	watch                      bool
}

func newGetCommand() *cobra.Command {
	var f getFlags
	kinds := strings.Join(listing.Kinds(), "|")
	cmd := &cobra.Command{
		Use:   "get {" + kinds + "} [NAME]",
		Short: "List what a running operator knows: objects, handlers, indices, reviews, peers",
		Long: `List what the workbench shows of a running operator, for scripts and for a quick look:

  resources   the objects, with the handler that needs attention, its attempt, and when it is next
  handlers    the handlers, with their counts and durations since the operator started
  indices     the indices and their sizes
  daemons     the daemons and timers of the objects
  reviews     the latest admission reviews, with their answers
  peers       the operators that know of each other through peering

The operator is one of kopf run or kopf dev on this machine, or one whose inspector has the address
of --inspect: see kopf retry. NAME is the id of a handler or of an index, or the identity of a peer.
For objects, daemons and reviews it is KIND, the kind, the plural or the short name of a resource,
or KIND/NAME.

` + exitCodes,
		Example: `  # What needs attention?
  kopf get resources -o wide

  # Wait in a script until an object was handled
  kopf get resources kex/demo -o json | jq -e '.[0].state == "settled"'

  # Follow the daemons of a namespace
  kopf get daemons -n app-one --watch`,
		Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return listing.Kinds(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return get(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVarP(&f.output, "output", "o", string(listing.Table), "the format: "+anyOf(listing.Formats()))
	set.StringVarP(&f.namespace, "namespace", "n", "", "only the objects of a namespace")
	set.BoolVarP(&f.watch, "watch", "w", false, "go on with what changes, until ctrl+c or until the operator ends")
	set.StringVar(&f.inspect, "inspect", "", "the address of the operator's inspector: unix:PATH or tcp:127.0.0.1:PORT (KOPF_INSPECTOR_TOKEN has its token)")
	completeWith(cmd, "output", listing.Formats()...)
	return cmd
}

func get(cmd *cobra.Command, f *getFlags, args []string) error {
	kind, ok := listing.ParseKind(args[0])
	if !ok {
		return usagef("cannot list %q: want %s%s", args[0], anyOf(listing.Kinds()), didYouMean(args[0], listing.Kinds()))
	}
	if !slices.Contains(listing.Formats(), f.output) {
		return usagef("--output=%s: want %s", f.output, anyOf(listing.Formats()))
	}
	selection, err := f.selection(kind, args[1:])
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	op, err := oneOperator(ctx, f.inspect)
	if err != nil {
		return err
	}
	w := listing.NewWriter(cmd.OutOrStdout(), kind, selection, listing.Format(f.output), time.Now)
	if !f.watch {
		n, err := w.Write(op.Snapshot)
		switch {
		case err != nil:
			return err
		case n > 0:
			return nil
		case selection.Name != "":
			return fmt.Errorf("%s has no %s %q", op, singular(kind), args[1])
		}
		if format := listing.Format(f.output); format == listing.Table || format == listing.Wide {
			fmt.Fprintf(cmd.ErrOrStderr(), "kopf: no %s\n", kind)
		}
		return nil
	}
	for message, err := range op.Client.Messages(ctx) {
		if err != nil {
			return ended(ctx, err)
		}
		if err := w.Follow(message); err != nil {
			return err
		}
	}
	return ended(ctx, errors.New("the operator has ended"))
}

// ended returns why watching an operator ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("watch the operator: %w", printable.Error(err))
}

// selection returns what the arguments after the kind select.
func (f *getFlags) selection(kind listing.Kind, args []string) (listing.Selection, error) {
	s := listing.Selection{Namespace: f.namespace}
	if f.namespace != "" && !kind.OfObjects() {
		return s, usagef("--namespace is for objects, daemons and reviews; %s have none", kind)
	}
	if len(args) == 0 {
		return s, nil
	}
	if !kind.OfObjects() {
		s.Name = args[0]
		return s, nil
	}
	var named bool
	s.Resource, s.Name, named = strings.Cut(args[0], "/")
	if s.Resource == "" || named && (s.Name == "" || strings.Contains(s.Name, "/")) {
		return s, usagef("%s: want KIND or KIND/NAME, such as kex/demo; the namespace goes to -n", args[0])
	}
	return s, nil
}

func singular(kind listing.Kind) string {
	if kind == listing.Indices {
		return "index"
	}
	return strings.TrimSuffix(string(kind), "s")
}
