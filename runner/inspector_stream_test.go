package runner

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// allocationsOfChange returns how much is allocated for a message with one changed object, beside others.
func allocationsOfChange(objects int) float64 {
	l := &loop{Session: NewSession(Options{})}
	op := &operator{}
	all := make([]*inspect.Object, objects)
	for i := range all {
		all[i] = &inspect.Object{Ref: ref(fmt.Sprint(i)), State: inspect.StateSettled}
	}
	snapshot := running()
	snapshot.Objects = all
	l.handleMessage(op, nil, inspect.Message{Snapshot: snapshot})
	return testing.AllocsPerRun(100, func() {
		l.handleMessage(op, nil, inspect.Message{Objects: []*inspect.Object{{Ref: ref("0"), State: inspect.StateRunning}}})
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
	object := seen("a", "10", inspect.StateRunning)
	l.handleMessage(op, nil, inspect.Message{Snapshot: settledOperator(running(object))})
	close(s.began)
	settled := object
	settled.State = inspect.StateSettled
	l.handleMessage(op, nil, inspect.Message{Objects: []*inspect.Object{&settled}})
	if err := s.Settled(t.Context(), 0); err != nil {
		t.Errorf("the objects are settled in the last snapshot: %v", err)
	}
}
