package kopftest

import (
	"strconv"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// WaitHandled waits until the operator has handled an object, as the test has left it,
// with success, or has found that there is no handler for it. It returns what the operator
// knows of the object: its handlers with their attempts and with the reason why some were
// not called. A handler that has failed for good fails the test at once.
func (op *Operator) WaitHandled(o *Object) inspect.Object {
	op.cluster.t.Helper()
	return op.waitState(o, "it is handled", inspect.StateFailed, inspect.StateSettled, inspect.StateIgnored)
}

// WaitFailed waits until the operator has handled an object, as the test has left it, and
// a handler has failed for good. Success fails the test at once.
func (op *Operator) WaitFailed(o *Object) inspect.Object {
	op.cluster.t.Helper()
	return op.waitState(o, "a handler has failed for good", inspect.StateSettled, inspect.StateFailed)
}

// WaitRetrying waits until a handler of the object has failed and is going to be retried.
func (op *Operator) WaitRetrying(o *Object) inspect.Object {
	op.cluster.t.Helper()
	return op.waitState(o, "a handler is going to be retried", inspect.StateSettled, inspect.StateRetrying)
}

// Inspect returns what the operator knows now of everything.
func (op *Operator) Inspect() *inspect.Snapshot {
	op.cluster.t.Helper()
	ctx, cancel := op.cluster.context()
	defer cancel()
	snapshot, err := op.snapshot(ctx)
	if err != nil {
		op.cluster.t.Fatalf("kopftest: looking into the operator: %v", err)
	}
	return snapshot
}

// waitState waits for one of the states; the opposite is an end without hope.
func (op *Operator) waitState(o *Object, what string, opposite inspect.ObjectState, wanted ...inspect.ObjectState) inspect.Object {
	c := op.cluster
	c.t.Helper()
	if op.run == nil {
		c.t.Fatalf("kopftest: %s: waited until %s: the operator is not running", o, what)
	}
	ctx, cancel := c.context()
	defer cancel()
	for snapshot, err := range op.inspector.Stream(ctx) {
		if err != nil {
			if ctx.Err() != nil {
				err = errInVain
			}
			c.t.Fatalf("kopftest: %s: waited until %s: %v\n%s", o, what, err, c.report(o))
		}
		state := find(snapshot, o)
		if state == nil || before(state.ResourceVersion, o.version) {
			continue
		}
		for _, w := range wanted {
			if state.State == w {
				return *state
			}
		}
		if state.State == opposite {
			c.t.Fatalf("kopftest: %s: waited until %s, but it is %s\n%s", o, what, opposite, c.report(o))
		}
	}
	c.t.Fatalf("kopftest: %s: waited until %s, but the operator has ended\n%s", o, what, c.report(o))
	panic("unreachable")
}

// find returns what is known of an object; nil if nothing is.
func find(snapshot *inspect.Snapshot, o *Object) *inspect.Object {
	if snapshot == nil {
		return nil
	}
	for i := range snapshot.Objects {
		known := &snapshot.Objects[i]
		if known.Resource == o.resource.Key() && known.Namespace == o.Namespace && known.Name == o.Name {
			return known
		}
	}
	return nil
}

// before compares versions of one object: they are numbers that grow.
func before(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
