package kopftest

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// WaitChild waits until the operator has seen a child of the parent in a state, and returns the child. The resource has the form of
// [Cluster.Object]. The parent must have an OnReconcile handler. WaitChild fails the test after the cluster's timeout.
func (op *Operator) WaitChild(parent *Object, resource, name string, state kopf.ChildState) *Object {
	c := op.cluster
	c.t.Helper()
	child := c.Object(resource, name)
	op.waitChildren(parent, fmt.Sprintf("%s is %s", child, state), func(known []inspect.Child) (bool, string) {
		found := childIn(known, child)
		if found == nil {
			return false, "the operator does not know the child"
		}
		return found.State == inspect.ChildState(state), fmt.Sprintf("it is %s: %s", found.State, found.Message)
	})
	return child
}

// WaitDrift waits until the operator has noticed that another client has changed an applied field of a child. It returns the drift,
// with the field's manager and the consequence. The path has the keys of list items, as in
// "spec.template.spec.containers[web].image". The path can also lead to a map or a list that contains the field. WaitDrift fails
// the test after the cluster's timeout.
func (op *Operator) WaitDrift(parent, child *Object, path string) inspect.FieldDrift {
	op.cluster.t.Helper()
	var drift inspect.FieldDrift
	op.waitChildren(parent, fmt.Sprintf("%s of %s has drifted", path, child), func(known []inspect.Child) (bool, string) {
		found := childIn(known, child)
		if found == nil {
			return false, "the operator does not know the child"
		}
		i := slices.IndexFunc(found.Drift, func(d inspect.FieldDrift) bool { return isWithin(d.Path, path) })
		if i < 0 {
			return false, fmt.Sprintf("its drift is %+v", found.Drift)
		}
		drift = found.Drift[i]
		return true, ""
	})
	return drift
}

// isWithin reports whether a path leads to a field, or to a part of this field.
func isWithin(path, field string) bool {
	return len(path) >= len(field) && path[:len(field)] == field && (len(path) == len(field) || path[len(field)] == '.' || path[len(field)] == '[')
}

func childIn(known []inspect.Child, child *Object) *inspect.Child {
	i := slices.IndexFunc(known, func(c inspect.Child) bool {
		return c.Resource == child.resource.Key() && c.Namespace == child.Namespace && c.Name == child.Name
	})
	if i < 0 {
		return nil
	}
	return &known[i]
}

// waitChildren waits until judge accepts the children of an object, or fails the test after the cluster's timeout. Judge also returns
// a description of the present state, for the failure.
func (op *Operator) waitChildren(parent *Object, what string, judge func([]inspect.Child) (met bool, present string)) {
	c := op.cluster
	c.t.Helper()
	if err := op.inspectable(); err != nil {
		c.t.Fatalf("kopftest: %s: waited until %s: look into the operator: %v", parent, what, err)
	}
	if failure := op.followChildren(parent, judge); failure != "" {
		c.t.Fatalf("kopftest: %s: waited until %s%s\n%s", parent, what, failure, c.report(parent))
	}
}

func (op *Operator) followChildren(parent *Object, judge func([]inspect.Child) (bool, string)) (failure string) {
	ctx, cancel := op.cluster.context()
	defer cancel()
	present := "the operator does not know the object"
	for snapshot, err := range op.inspector.Stream(ctx) {
		if err != nil {
			return fmt.Sprintf(": %v; %s", waitError(ctx, err), present)
		}
		state := find(snapshot, parent)
		if state == nil {
			continue
		}
		list, err := op.inspector.Children(ctx, state.Ref)
		if err != nil {
			return fmt.Sprintf(": %v; %s", waitError(ctx, err), present)
		}
		var met bool
		if met, present = judge(list.Children); met {
			return ""
		}
	}
	return ", but the operator ended"
}
