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
	handler, namespace, state string
	brake                     bool
	choice                    operatorChoice
}

// retriedStates are the values of --state: the states of objects with handlers that failed or wait for a retry.
var retriedStates = []string{string(inspect.StateFailed), string(inspect.StateRetrying), string(inspect.StateStuck)}

func newRetryCommand() *cobra.Command {
	var f retryFlags
	cmd := &cobra.Command{
		Use:   "retry {KIND/NAME | [KIND] --state=STATE | [KIND] --brake}",
		Short: "Call failed handlers again",
		Long: `Retry the permanently failed handlers of one object, and skip the remaining delay of handlers
that wait for a retry; or do so for all objects in a state, optionally of one KIND or one namespace.
kopf get lists the same objects with --state. Handlers that succeeded are not called again, except for
the reconcile handler, which has another pass and repairs the children of the object.

An operator that prunes many children after its start stops to do so, because its new build may be
wrong. If the deletions are intended, --brake continues them, and kopf retry KIND/NAME does so for one
object.

KIND is the kind, the plural or the short name of a resource. With --state=failed alone, the objects
are retried a few at a time.

A running operator does it, of kopf run or kopf dev on this machine: that of the project of the
current folder if it runs, that of --project, or else the one that has the object. With --inspect, it
is the one whose inspector has the address. At a TCP address, the inspector wants a token. If this
machine does not have the operator's token file, such as when the operator runs in a container, set
KOPF_INSPECTOR_TOKEN to the same value here and for the operator.

` + exitCodes,
		Example: `  # The failed handlers of an object
  kopf retry kex/demo

  # One of them, in a namespace
  kopf retry kex/demo --handler=create_fn -n app-one

  # All that have failed, and those of a kind, after the cause is fixed
  kopf retry --state=failed
  kopf retry kex --state=failed

  # Another pass over the children of an object
  kopf retry shops/demo

  # Delete the children that a new build has no use for, although they are many
  kopf retry --brake

  # In the operator of another project
  kopf retry --state=failed --project=hello

  # With a deployed operator that runs with --inspect=tcp:127.0.0.1:7070, and with the same
  # KOPF_INSPECTOR_TOKEN in its environment
  kubectl port-forward deploy/operator 7070 &
  KOPF_INSPECTOR_TOKEN=... kopf retry --state=failed --inspect=tcp:127.0.0.1:7070`,
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
	set.StringVar(&f.state, "state", "", "the objects in a state: "+anyOf(retriedStates))
	set.StringVarP(&f.namespace, "namespace", "n", "", "only the objects of a namespace, or the namespace of the object if several have its name")
	set.BoolVar(&f.brake, "brake", false, "continue to prune children, of all objects or of one KIND")
	f.choice.add(cmd)
	completeWith(cmd, "state", retriedStates...)
	return cmd
}

func (f *retryFlags) check(args []string) error {
	const example = "such as kopf retry kex/demo, or the objects in a state, such as kopf retry --state=failed"
	if f.state != "" && !slices.Contains(retriedStates, f.state) {
		return usagef("--state=%s: want %s%s", f.state, anyOf(retriedStates), didYouMean(f.state, retriedStates))
	}
	switch {
	case f.brake && (f.state != "" || f.handler != "" || f.namespace != ""):
		return usagef("--brake excludes --state, --handler and --namespace")
	case f.brake && len(args) == 1 && strings.Contains(args[0], "/"):
		return usagef("%s: --brake is for all objects of a KIND; without it, kopf retry continues for one object", args[0])
	case f.brake && len(args) < 2:
		return nil
	case len(args) > 1:
		return usagef("want one object, %s", example)
	case len(args) == 0 && f.state != "":
		return nil
	case len(args) == 0:
		return usagef("retry what? name an object, %s", example)
	}
	kind, name, named := strings.Cut(args[0], "/")
	switch {
	case kind == "" || named && (name == "" || strings.Contains(name, "/")):
		return usagef("%s: want KIND/NAME, such as kex/demo; the namespace goes to -n", args[0])
	case named && f.state != "":
		return usagef("%s: --state excludes an object: use one or the other", args[0])
	case !named && f.state == "":
		return usagef("%s: want KIND/NAME, such as kex/demo, or a state, such as --state=failed", args[0])
	}
	return nil
}

func retry(cmd *cobra.Command, f *retryFlags, args []string) error {
	ctx := cmd.Context()
	operators, unread, err := f.choice.operators(ctx)
	if err != nil {
		return err
	}
	if f.brake {
		return releaseBrake(ctx, cmd, f, strings.Join(args, ""), operators, unread)
	}
	if f.state != "" {
		return retryState(ctx, cmd, f, strings.Join(args, ""), operators, unread)
	}
	kind, name, _ := strings.Cut(args[0], "/")
	op, o, err := findObject(operators, unread, kind, name, f)
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

// checkKind returns an error if no operator has a resource of the name. Unread is why other operators cannot be read.
func checkKind(operators []runner.RunningOperator, unread error, kind string) error {
	var snapshots []*inspect.Snapshot
	for _, op := range operators {
		if listing.HasResource(op.Snapshot, kind) {
			return nil
		}
		snapshots = append(snapshots, op.Snapshot)
	}
	return &usageError{withUnread(fmt.Errorf("no running operator has the resource %q%s", kind, suggestResource(kind, nil, snapshots...)), unread)}
}

// retryState retries the objects in the state, of a kind or of all, of the only operator that has any. Unread is why other
// operators cannot be read.
func retryState(ctx context.Context, cmd *cobra.Command, f *retryFlags, kind string, operators []runner.RunningOperator, unread error) error {
	what := "the objects that are " + f.state
	if kind != "" {
		if err := checkKind(operators, unread, kind); err != nil {
			return err
		}
		what = "the " + kind + " that are " + f.state
	}
	var having []runner.RunningOperator
	var objects []*inspect.Object
	for _, op := range operators {
		if in := f.selects(op.Snapshot, kind); len(in) > 0 {
			having, objects = append(having, op), in
		}
	}
	switch len(having) {
	case 0:
		if unread != nil {
			return withUnread(fmt.Errorf("retry %s: the operators that can be read have none", what), unread)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "nothing to retry: there are no %s\n", strings.TrimPrefix(what, "the "))
		return nil
	case 1:
	default:
		return fmt.Errorf("retry %s: several operators have some; name one with %s:%s", what, f.choice.waysToChoose(having), listOperators(having))
	}
	if err := f.retryObjects(ctx, having[0].Client, kind, objects); err != nil {
		return fmt.Errorf("retry %s: %w", what, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "retrying %s\n", countObjects(len(objects)))
	return nil
}

// selects returns the objects of the state, the kind and the namespace that have something to retry.
func (f *retryFlags) selects(s *inspect.Snapshot, kind string) []*inspect.Object {
	var selected []*inspect.Object
	for _, o := range s.Objects {
		if string(o.State) == f.state && (kind == "" || inspect.IsNamed(o, kind)) && (f.namespace == "" || o.Namespace == f.namespace) && nothingToRetry(o, f.handler) == "" {
			selected = append(selected, o)
		}
	}
	return selected
}

func (f *retryFlags) retryObjects(ctx context.Context, client *inspect.Client, kind string, objects []*inspect.Object) error {
	if f.state == string(inspect.StateFailed) && kind == "" && f.namespace == "" {
		return client.Do(ctx, inspect.Intent{Kind: inspect.IntentRetryFailed, Handler: f.handler}) // a few at a time
	}
	var failed []error
	for _, o := range objects {
		if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentRetry, Object: &o.Ref, Handler: f.handler}); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", qualified(o), err))
		}
	}
	return errors.Join(failed...)
}

// isHandler reports whether a handler, or the handler that calls it, has the id. The empty id matches any handler.
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
func findObject(operators []runner.RunningOperator, unread error, kind, name string, f *retryFlags) (runner.RunningOperator, *inspect.Object, error) {
	var found []match
	for _, op := range operators {
		for _, o := range op.Snapshot.Objects {
			if o.Name == name && (f.namespace == "" || o.Namespace == f.namespace) && inspect.IsNamed(o, kind) {
				found = append(found, match{op, o})
			}
		}
	}
	switch len(found) {
	case 0:
		if err := checkKind(operators, unread, kind); err != nil {
			return runner.RunningOperator{}, nil, err
		}
		what := kind + "/" + name
		if f.namespace != "" {
			what += " in the namespace " + f.namespace
		}
		return runner.RunningOperator{}, nil, withUnread(fmt.Errorf("there is no %s in:%s", what, listOperators(operators)), unread)
	case 1:
		return found[0].operator, found[0].object, nil
	}
	var list strings.Builder
	for _, m := range found {
		fmt.Fprintf(&list, "\n  %s of %s", qualified(m.object), m.operator)
	}
	return runner.RunningOperator{}, nil, fmt.Errorf("several objects are named %s/%s; choose with -n, %s:%s", kind, name, f.choice.waysToChoose(operators), list.String())
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
		if h.State == inspect.PhaseFailed || h.State == inspect.PhaseRetrying || h.Kind == inspect.KindReconcile {
			return "" // a reconcile handler can have another pass at any time
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
