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
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// getFlags are the flags of kopf get.
type getFlags struct {
	output, namespace, state string
	watch, orphans           bool
	choice                   operatorChoice
}

func newGetCommand() *cobra.Command {
	var f getFlags
	kinds := strings.Join(listing.Kinds(), "|")
	cmd := &cobra.Command{
		Use:   "get [" + kinds + "|KIND] [NAME]",
		Short: "List the state of a running operator: objects, children, handlers, indices, reviews, peers",
		Long: `List what the workbench shows of a running operator, for scripts and for a quick look:

  resources   the objects, with the handler that needs attention, its attempt, and when it is next
  children    the objects that the operator keeps for each object, their states, and what is wrong
  handlers    the handlers, with their counts and durations since the operator started
  indices     the indices and their sizes
  daemons     the daemons and timers of the objects
  reviews     the latest admission reviews, with their answers
  peers       the operators that know of each other through peering

The operator is one of kopf run or kopf dev on this machine: that of the project of the current
folder if it runs, that of --project, or else the only one. With --inspect, it is the one whose
inspector has the address: see kopf retry.

NAME is the id of a handler or of an index, or the identity of a peer. For objects, daemons and
reviews it is KIND, the kind, the plural or the short name of a resource, or KIND/NAME. For children
it names their object. Alone, KIND or KIND/NAME lists objects: kopf get kex is kopf get resources kex.
Without arguments, kopf get lists all objects.

` + exitCodes,
		Example: `  # What needs attention?
  kopf get resources -o wide

  # Which objects have failed, of all kinds and of one, in the operator of another project?
  kopf get --state=failed
  kopf get kex --state=failed --project=hello

  # Wait in a script until an object was handled
  kopf get resources kex/demo -o json | jq -e '.[0].state == "settled"'

  # Which children of an object are not ready, and why?
  kopf get children kex/demo

  # Follow the daemons of a namespace
  kopf get daemons -n app-one --watch`,
		Args: cobra.MaximumNArgs(2),
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
	set.StringVar(&f.state, "state", "", "only the objects in a state: "+anyOf(objectStates))
	set.BoolVarP(&f.watch, "watch", "w", false, "follow the changes, until ctrl+c or until the operator ends")
	set.BoolVar(&f.orphans, "orphans", false, "only the children whose object the operator does not know")
	f.choice.add(cmd)
	completeWith(cmd, "output", listing.Formats()...)
	completeWith(cmd, "state", objectStates...)
	return cmd
}

func get(cmd *cobra.Command, f *getFlags, args []string) error {
	if len(args) == 0 {
		args = []string{string(listing.Resources)}
	}
	kind, ok := listing.ParseKind(args[0])
	if ok {
		args = args[1:]
	} else if kind = listing.Resources; len(args) > 1 {
		args = []string{strings.Join(args, "/")} // kopf get kex demo, as for kubectl
	}
	if !slices.Contains(listing.Formats(), f.output) {
		return usagef("--output=%s: want %s", f.output, anyOf(listing.Formats()))
	}
	selection, err := f.selection(kind, args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	op, err := f.choice.one(ctx)
	if err != nil {
		return err
	}
	if selection.Resource != "" && !listing.HasResource(op.Snapshot, selection.Resource) {
		return unknownResource(op.Snapshot, selection.Resource, !ok)
	}
	w := listing.NewWriter(cmd.OutOrStdout(), kind, selection, listing.Format(f.output), time.Now)
	if kind == listing.Children {
		return getChildren(cmd, op, w, selection, listing.Format(f.output))
	}
	if !f.watch {
		write := func() (int, error) { return w.Write(op.Snapshot) }
		if kind == listing.Resources && listing.Format(f.output).IsStructured() {
			write = func() (int, error) { return getWithChildren(cmd, op, w, selection) }
		}
		n, err := write()
		switch {
		case err != nil:
			return err
		case n > 0:
			return nil
		case selection.Name != "":
			return fmt.Errorf("%s has no %s %q", op, singular(kind), args[0])
		}
		if !listing.Format(f.output).IsStructured() {
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

// unknownResource returns the error about a word that names no resource of an operator. As the first argument, it may also be
// meant for a kind of list.
func unknownResource(s *inspect.Snapshot, word string, first bool) error {
	if first {
		return usagef("cannot list %q: want %s, or a resource of the operator%s", word, anyOf(listing.Kinds()), suggestResource(word, listing.Kinds(), s))
	}
	return usagef("the operator has no resource %q%s", word, suggestResource(word, nil, s))
}

// suggestResource returns the end of an error message that suggests a resource of operators, or another word, which a
// mistyped one may mean. Without any, it names the resources.
func suggestResource(word string, others []string, of ...*inspect.Snapshot) string {
	var plurals []string
	for _, s := range of {
		others = append(others, listing.ResourceNames(s)...)
		plurals = append(plurals, listing.Plurals(s)...)
	}
	slices.Sort(others)
	if meant := didYouMean(strings.ToLower(word), slices.Compact(others)); meant != "" {
		return meant
	}
	slices.Sort(plurals)
	if plurals = slices.Compact(plurals); len(plurals) > 0 {
		return "; there are " + strings.Join(plurals, ", ")
	}
	return "; it serves no resources yet"
}

// objectStates are the values of --state.
var objectStates = []string{
	string(inspect.StateStuck), string(inspect.StateFailed), string(inspect.StateRunning), string(inspect.StatePaused), string(inspect.StateWaiting),
	string(inspect.StateRetrying), string(inspect.StateDeleting), string(inspect.StateIgnored), string(inspect.StateSettled),
}

// selection returns the selection of the arguments after the kind.
func (f *getFlags) selection(kind listing.Kind, args []string) (listing.Selection, error) {
	s := listing.Selection{Namespace: f.namespace, State: inspect.ObjectState(f.state), Orphans: f.orphans}
	switch {
	case f.state == "":
	case !slices.Contains(objectStates, f.state):
		return s, usagef("--state=%s: want %s%s", f.state, anyOf(objectStates), didYouMean(f.state, objectStates))
	case kind == listing.Children:
		return s, usagef("--state is for objects; children are chosen by their object")
	case kind != listing.Resources:
		return s, usagef("--state is for objects; %s have none", kind)
	case f.watch:
		return s, usagef("--state excludes --watch, which shows how states change")
	}
	switch {
	case f.namespace != "" && !kind.OfObjects():
		return s, usagef("--namespace is for objects, children, daemons and reviews; %s have none", kind)
	case f.orphans && kind != listing.Children:
		return s, usagef("--orphans is for children: kopf get children --orphans")
	case f.watch && kind == listing.Children:
		return s, usagef("--watch excludes children, because operators do not stream them; repeat the command instead")
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
	if named && f.orphans {
		return s, usagef("%s: --orphans excludes an object, because orphans have none; want KIND alone", args[0])
	}
	return s, nil
}

func singular(kind listing.Kind) string {
	if kind == listing.Indices {
		return "index"
	}
	return strings.TrimSuffix(string(kind), "s")
}
