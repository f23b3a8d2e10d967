package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// retryFlags are the flags of kopf retry.
type retryFlags struct {
	handler, namespace, inspect string
	allFailed                   bool
}

func newRetryCommand() *cobra.Command {
	var f retryFlags
	cmd := &cobra.Command{
		Use:   "retry {KIND/NAME | --all-failed}",
		Short: "Call failed handlers again",
		Long: `Call handlers of an object again that have failed permanently, for what they failed
for, and handlers at once that wait for their next attempt. Handlers that have succeeded are not
called. A running operator does it: one of kopf run or kopf dev on this machine, or one whose
inspector has the address of --inspect. At a TCP address, the inspector wants a token. If this
machine does not have the operator's token file, such as when the operator runs in a container,
set KOPF_INSPECTOR_TOKEN to the same value here and for the operator.

KIND is the kind, the plural or the short name of a resource. The objects that have failed are
retried a few at a time.

` + exitCodes,
		Example: `  # The failed handlers of an object
  kopf retry kex/demo

  # One of them, in a namespace
  kopf retry kex/demo --handler=create_fn -n app-one

  # Whatever has failed, after the cause is fixed
  kopf retry --all-failed

  # With a deployed operator that runs with --inspect=tcp:127.0.0.1:7070, and with the same
  # KOPF_INSPECTOR_TOKEN in its environment
  kubectl port-forward deploy/operator 7070 &
  KOPF_INSPECTOR_TOKEN=... kopf retry --all-failed --inspect=tcp:127.0.0.1:7070`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			return f.check(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return retry(cmd, &f, args)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.handler, "handler", "", "the id of the only handler to call, with its sub-handlers")
	set.StringVarP(&f.namespace, "namespace", "n", "", "the namespace of the object, if several have one of the name")
	set.BoolVar(&f.allFailed, "all-failed", false, "retry all objects with handlers that have failed permanently")
	set.StringVar(&f.inspect, "inspect", "", "the address of the operator's inspector: unix:PATH or tcp:127.0.0.1:PORT (KOPF_INSPECTOR_TOKEN has its token)")
	return cmd
}

func (f *retryFlags) check(args []string) error {
	switch {
	case f.allFailed && (len(args) > 0 || f.namespace != ""):
		return usagef("--all-failed excludes objects and namespaces: use one or the other")
	case f.allFailed:
		return nil
	case len(args) != 1:
		return usagef("want one object, such as kopf retry kex/demo, or --all-failed")
	}
	if kind, name, ok := strings.Cut(args[0], "/"); !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return usagef("%s: want KIND/NAME, such as kex/demo; the namespace goes to -n", args[0])
	}
	return nil
}

func retry(cmd *cobra.Command, f *retryFlags, args []string) error {
	ctx := cmd.Context()
	operators, unread, err := operatorsAt(ctx, f.inspect)
	if err != nil {
		return err
	}
	if f.allFailed {
		return retryAllFailed(ctx, cmd, operators, unread, f.handler)
	}
	kind, name, _ := strings.Cut(args[0], "/")
	op, o, err := findObject(operators, unread, kind, name, f.namespace)
	if err != nil {
		return err
	}
	if nothing := nothingToRetry(o, f.handler); nothing != "" {
		return fmt.Errorf("retry %s: %s", args[0], nothing)
	}
	if err := op.Client.Do(ctx, inspect.Intent{Kind: inspect.IntentRetry, Object: &o.Ref, Handler: f.handler}); err != nil {
		return fmt.Errorf("retry %s: %w", args[0], err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "retrying %s\n", qualified(o))
	return nil
}

// retryAllFailed retries the failed objects of the only operator that has any. Unread is why others cannot be read.
func retryAllFailed(ctx context.Context, cmd *cobra.Command, operators []runner.RunningOperator, unread error, handler string) error {
	var failing []runner.RunningOperator
	failed := 0
	for _, op := range operators {
		if n := countFailed(op.Snapshot, handler); n > 0 {
			failing, failed = append(failing, op), n
		}
	}
	switch len(failing) {
	case 0:
		if unread != nil {
			return fmt.Errorf("retry all: nothing has failed in the operators that can be read; others cannot: %w", unread)
		}
		fmt.Fprintln(cmd.OutOrStdout(), "nothing has failed")
		return nil
	case 1:
	default:
		return errors.New("retry all: objects of several operators have failed; name one with --inspect:" + listOperators(failing))
	}
	if err := failing[0].Client.Do(ctx, inspect.Intent{Kind: inspect.IntentRetryFailed, Handler: handler}); err != nil {
		return fmt.Errorf("retry all: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "retrying %s\n", countObjects(failed))
	return nil
}

// countFailed returns the number of objects that handlers have failed for: any, or the one with the id.
func countFailed(snapshot *inspect.Snapshot, handler string) int {
	n := 0
	for i := range snapshot.Objects {
		failed := func(h inspect.HandlerState) bool {
			return h.State == inspect.PhaseFailed && isHandler(&h, handler)
		}
		if slices.ContainsFunc(snapshot.Objects[i].Handlers, failed) {
			n++
		}
	}
	return n
}

// isHandler reports whether a handler, or the handler that calls it, has the id. The empty id is that of
// any.
func isHandler(h *inspect.HandlerState, id string) bool {
	return id == "" || h.ID == id || strings.HasPrefix(h.ID, id+"/")
}

// countObjects formats a number of objects: "1 object", "3 objects".
func countObjects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return strconv.Itoa(n) + " objects"
}

func listOperators(operators []runner.RunningOperator) string {
	var list strings.Builder
	for _, op := range operators {
		fmt.Fprintf(&list, "\n  %s", op)
	}
	return list.String()
}

// match is an object of an operator.
type match struct {
	operator runner.RunningOperator
	object   *inspect.Object
}

// findObject returns the only object of a kind and a name, and its operator. Unread is why other operators cannot
// be read.
func findObject(operators []runner.RunningOperator, unread error, kind, name, namespace string) (runner.RunningOperator, *inspect.Object, error) {
	var found []match
	for _, op := range operators {
		for _, o := range op.Snapshot.Objects {
			if o.Name == name && (namespace == "" || o.Namespace == namespace) && inspect.IsNamed(o, kind) {
				found = append(found, match{op, o})
			}
		}
	}
	switch len(found) {
	case 0:
		what := kind + "/" + name
		if namespace != "" {
			what += " in the namespace " + namespace
		}
		var names []string
		for _, op := range operators {
			names = append(names, listing.ResourceNames(op.Snapshot)...)
		}
		slices.Sort(names)
		meant := ""
		if !slices.ContainsFunc(operators, func(op runner.RunningOperator) bool { return listing.HasResource(op.Snapshot, kind) }) {
			meant = didYouMean(strings.ToLower(kind), slices.Compact(names))
		}
		err := fmt.Errorf("no running operator has seen %s%s; the operators are:%s", what, strings.TrimSuffix(meant, "?"), listOperators(operators))
		if unread != nil {
			err = fmt.Errorf("%w\nothers cannot be read: %w", err, unread)
		}
		return runner.RunningOperator{}, nil, err
	case 1:
		return found[0].operator, found[0].object, nil
	}
	var list strings.Builder
	for _, m := range found {
		fmt.Fprintf(&list, "\n  %s of %s", qualified(m.object), m.operator)
	}
	return runner.RunningOperator{}, nil, fmt.Errorf("several objects are named %s/%s; choose with -n or --inspect:%s", kind, name, list.String())
}

// nothingToRetry returns why neither a failed nor a delayed handler can be called; empty if one can.
func nothingToRetry(o *inspect.Object, handler string) string {
	known := handler == ""
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if !isHandler(h, handler) {
			continue
		}
		known = true
		if h.State == inspect.PhaseFailed || h.State == inspect.PhaseRetrying {
			return ""
		}
	}
	if !known {
		return fmt.Sprintf("it has no handler %q", handler)
	}
	if handler != "" {
		return fmt.Sprintf("its handler %q neither failed nor waits for a retry", handler)
	}
	return fmt.Sprintf("nothing failed or waits for a retry: it is %s", o.State)
}

func qualified(o *inspect.Object) string {
	name := o.Short + "/" + o.Name
	if o.Namespace != "" {
		name += " in " + o.Namespace
	}
	return name
}
