package kopftest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// WaitPass waits until a pass of an object has ended with an outcome, and returns the pass. The pass has seen the version of the
// object that the test wrote last, or a newer one. So the test fails if its last write causes no pass, for example if it changes only
// the status.
func (op *Operator) WaitPass(o *Object, outcome inspect.PassOutcome) inspect.Pass {
	op.cluster.t.Helper()
	state := op.waitState(o, "a pass is "+string(outcome), func(state *inspect.Object, _ time.Time) (verdict, string) {
		if state.Pass != nil && state.Pass.Outcome == outcome && !before(state.Pass.Version, o.version) {
			return come, ""
		}
		return notYet, ""
	})
	return *state.Pass
}

// idleAttempts limits how often [Operator.CheckIdle] repeats its check, because the controllers of the children may still be
// changing them at first.
const idleAttempts = 10

// CheckIdle checks that the passes of an object change nothing any longer. It requests passes, as kopf retry does, until two
// consecutive passes have changed neither a child nor the object. If ten attempts fail, the test fails with the reasons. So CheckIdle
// finds a handler that applies a different object in each pass, for example because the object has the current time. CheckIdle takes
// no longer than the passes. The object must have an [kopf.OnReconcile] handler, and its passes must be complete or waiting.
func (op *Operator) CheckIdle(o *Object) {
	op.cluster.t.Helper()
	var busy string
	for range idleAttempts {
		if busy = op.busy(o); busy == "" {
			return
		}
	}
	op.cluster.t.Fatalf("kopftest: %s does not come to rest: %s\n%s", o, busy, op.cluster.report(o))
}

// busy requests two passes of an object, and returns the changes that they have made; empty if they have changed nothing.
func (op *Operator) busy(o *Object) string {
	op.cluster.t.Helper()
	before := o.Get()
	first := op.pass(o)
	second := op.pass(o) // the second pass begins after the operator has written the changes of the first pass to the object
	after := o.Get()
	var all []string
	for _, state := range []*inspect.Object{first, second} {
		if why := op.unrest(state); why != "" {
			all = append(all, why)
		}
	}
	if second.Pass.Number != first.Pass.Number+1 {
		all = append(all, fmt.Sprintf("%d passes have ended between two requested ones", second.Pass.Number-first.Pass.Number-1))
	}
	if before.Get("metadata.resourceVersion") != after.Get("metadata.resourceVersion") {
		all = append(all, "the object has changed: "+changesBetween(before, after))
	}
	return strings.Join(all, "; ")
}

// pass requests a pass of an object, and returns the state of the object with the pass.
func (op *Operator) pass(o *Object) *inspect.Object {
	c := op.cluster
	c.t.Helper()
	present := op.waitState(o, "the operator knows it", func(*inspect.Object, time.Time) (verdict, string) { return come, "" })
	if !slices.ContainsFunc(present.Handlers, func(h inspect.HandlerState) bool { return h.Kind == inspect.KindReconcile }) {
		c.t.Fatalf("kopftest: %s has no OnReconcile handler, so it has no passes", o)
	}
	number := 0
	if present.Pass != nil {
		number = present.Pass.Number
	}
	op.do(inspect.Intent{Kind: inspect.IntentRetry, Object: &present.Ref})
	state := op.waitState(o, "a requested pass ends", func(state *inspect.Object, _ time.Time) (verdict, string) {
		if state.Pass != nil && state.Pass.Number > number {
			return come, ""
		}
		return notYet, ""
	})
	return &state
}

// unrest returns the changes of children in the last pass of an object, or its failure; empty if the pass has changed no child.
func (op *Operator) unrest(state *inspect.Object) string {
	op.cluster.t.Helper()
	p := state.Pass
	switch {
	case p.Outcome != inspect.PassComplete && p.Outcome != inspect.PassWaiting:
		return fmt.Sprintf("a pass is %s: %s", p.Outcome, p.Message)
	case p.Applied == p.Unchanged && p.Pruned == 0 && p.Refused == 0:
		return ""
	}
	return fmt.Sprintf("a pass has changed %d of %d applied children, and pruned %d%s", p.Applied-p.Unchanged, p.Applied, p.Pruned, op.changedChildren(state.Ref))
}

// changedChildren returns the results of the last pass for the children that the pass has changed.
func (op *Operator) changedChildren(parent inspect.Ref) string {
	op.cluster.t.Helper()
	ctx, cancel := op.cluster.context()
	defer cancel()
	list, err := op.inspector.Children(ctx, parent)
	if err != nil {
		return fmt.Sprintf(" (%v)", err)
	}
	var changed []string
	for _, child := range list.Children {
		switch child.Result {
		case "", inspect.ResultUnchanged, inspect.ResultYielded:
		default:
			changed = append(changed, fmt.Sprintf("%s %s: %s", child.Kind, child.Name, child.Result))
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return " (" + strings.Join(changed, ", ") + ")"
}

// changesBetween returns the differing fields of two versions of an object, apart from its version.
func changesBetween(before, after *kopf.Object) string {
	trees := make([]map[string]any, 2)
	for i, version := range []*kopf.Object{before, after} {
		trees[i], _ = version.Get("").(map[string]any)
	}
	var paths []string
	for _, item := range object.ComputeDiff(trees[0], trees[1]) {
		if path := item.Path.String(); path != "metadata.resourceVersion" && path != "metadata.managedFields" {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return "only its version or its managedFields"
	}
	return strings.Join(paths, ", ")
}
