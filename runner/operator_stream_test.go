package runner

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func thing(name string, state inspect.ObjectState) *inspect.Object {
	ref := inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: name, UID: "uid-" + name}
	return &inspect.Object{Ref: ref, Short: "th", ResourceVersion: "10", State: state}
}

// settledSnapshot is a snapshot of a settled operator that serves things.
func settledSnapshot(objects ...*inspect.Object) *inspect.Snapshot {
	return &inspect.Snapshot{
		Operator: inspect.Operator{State: inspect.OperatorRunning, Settled: true},
		Served:   []inspect.Resource{{Key: "things.v1.example.com", Listed: true}},
		Objects:  objects,
	}
}

// allocationsOfChange returns how much is allocated for a message with one changed object, beside others.
func allocationsOfChange(objects int) float64 {
	l := &loop{Session: NewSession(Options{})}
	op := &operator{}
	all := make([]*inspect.Object, objects)
	for i := range all {
		all[i] = thing(fmt.Sprint(i), inspect.StateSettled)
	}
	l.handleMessage(op, nil, inspect.Message{Snapshot: settledSnapshot(all...)})
	return testing.AllocsPerRun(100, func() {
		l.handleMessage(op, nil, inspect.Message{Objects: []*inspect.Object{thing("0", inspect.StateRunning)}})
	})
}

func TestSession_WorkOfChangeDoesNotGrowWithObjects(t *testing.T) {
	few, many := allocationsOfChange(10), allocationsOfChange(5000)
	if many > few+10 {
		t.Errorf("a change beside 10 objects allocates %.0f times, one beside 5,000 objects %.0f times", few, many)
	}
}

func TestSession_SettlesWithTheLastSnapshot(t *testing.T) {
	s := NewSession(Options{})
	l := &loop{Session: s}
	op := &operator{}
	l.handleMessage(op, nil, inspect.Message{Snapshot: settledSnapshot(thing("a", inspect.StateRunning))})
	close(s.began)
	l.handleMessage(op, nil, inspect.Message{Objects: []*inspect.Object{thing("a", inspect.StateSettled)}})
	if err := s.Settled(t.Context(), 0); err != nil {
		t.Errorf("the objects are settled in the last snapshot: %v", err)
	}
}
