package kopftest

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Inspect returns the current state of the operator.
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

// Inspector returns a client of the running operator's inspector, to follow the operator's state or to send intents. It
// does not work for the next run of the operator.
func (op *Operator) Inspector() *inspect.Client {
	op.cluster.t.Helper()
	if err := op.inspectable(); err != nil {
		op.cluster.t.Fatalf("kopftest: look into the operator: %v", err)
	}
	return op.inspector
}

// inspectable returns an error if the operator has no inspector.
func (op *Operator) inspectable() error {
	switch {
	case op.run == nil:
		return errNotRunning
	case op.inspector == nil:
		return errNoInspector
	case op.run.frozen:
		return errFrozen
	default:
		return nil
	}
}

// Pause pauses the operator: it handles no objects, and its daemons and timers stop. Pause does not wait for their end.
func (op *Operator) Pause() {
	op.cluster.t.Helper()
	op.do(inspect.Intent{Kind: inspect.IntentPause})
}

// Resume ends a pause.
func (op *Operator) Resume() {
	op.cluster.t.Helper()
	op.do(inspect.Intent{Kind: inspect.IntentResume})
}

func (op *Operator) do(intent inspect.Intent) {
	op.cluster.t.Helper()
	ctx, cancel := op.cluster.context()
	defer cancel()
	if err := op.Inspector().Do(ctx, intent); err != nil {
		op.cluster.t.Fatalf("kopftest: %s the operator: %v", intent.Kind, err)
	}
}

// inspectorInterval is the time between attempts to connect to an inspector that does not listen yet.
const inspectorInterval = 10 * time.Millisecond

// WaitInspect waits until condition holds for the inspector's snapshot, and returns the snapshot. The string what
// completes the failure message, as in "it knows two objects".
func (op *Operator) WaitInspect(what string, condition func(*inspect.Snapshot) bool) *inspect.Snapshot {
	c := op.cluster
	c.t.Helper()
	if err := op.inspectable(); err != nil {
		c.t.Fatalf("kopftest: waited until %s: look into the operator: %v", what, err)
	}
	snapshot, err := op.followInspector(condition)
	if err != nil {
		c.t.Fatalf("kopftest: waited until %s: %v\n%s%s", what, err, c.overview(), op.lastLines())
	}
	return snapshot
}

func (op *Operator) followInspector(condition func(*inspect.Snapshot) bool) (*inspect.Snapshot, error) {
	ctx, cancel := op.cluster.context()
	defer cancel()
	for {
		for snapshot, err := range op.inspector.Stream(ctx) {
			if err != nil {
				break // the operator does not listen yet, or has ended
			}
			if condition(snapshot) {
				return snapshot, nil
			}
		}
		retry := time.NewTimer(inspectorInterval)
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-op.run.ended:
			return nil, fmt.Errorf("the operator has ended: %w", op.run.err)
		}
	}
}
