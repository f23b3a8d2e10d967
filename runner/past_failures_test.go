package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestPastFailures_RestoredUntilObjectChanges(t *testing.T) {
	ref := inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: "default", Name: "a", UID: "1"}
	done := inspect.HandlerState{ID: "log", State: inspect.PhaseDone}
	failed := inspect.HandlerState{ID: "create", State: inspect.PhaseFailed, Attempt: 3, Error: &inspect.HandlerError{Message: "no size"}}
	idle := func(id string) inspect.HandlerState {
		return inspect.HandlerState{ID: id, State: inspect.PhaseOtherCause}
	}
	created := &inspect.Cause{Reason: "create", Version: "7"}
	left := inspect.Object{
		Ref: ref, ResourceVersion: "8", State: inspect.StateFailed, Cause: created, Handlers: []inspect.HandlerState{done, failed},
	}
	object := func(version string, state inspect.ObjectState, handlers ...inspect.HandlerState) inspect.Object {
		return inspect.Object{Ref: ref, ResourceVersion: version, State: state, Cause: &inspect.Cause{Reason: "noop"}, Handlers: handlers}
	}
	for _, test := range []struct {
		name string
		told inspect.Object
		want inspect.ObjectState
	}{
		{"unchanged", object("8", inspect.StateSettled, idle("log"), idle("create")), inspect.StateFailed},
		{"changed meanwhile", object("9", inspect.StateSettled, idle("log"), idle("create")), inspect.StateSettled},
		{"being handled", object("8", inspect.StateRunning, idle("log"), idle("create")), inspect.StateRunning},
		{"without the handler", object("8", inspect.StateSettled, idle("log")), inspect.StateSettled},
		{"handled anew", object("8", inspect.StateSettled, idle("log"), inspect.HandlerState{ID: "create", State: inspect.PhaseDone, Attempts: make([]inspect.Attempt, 1)}), inspect.StateSettled},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f pastFailures
			f.rotate()
			f.restoreInto(&inspect.Message{Objects: []inspect.Object{left}})
			for range 2 { // operators
				f.rotate()
				m := inspect.Message{Snapshot: &inspect.Snapshot{Objects: []inspect.Object{test.told}}}
				f.restoreInto(&m)
				got := m.Snapshot.Objects[0]
				if got.State != test.want {
					t.Fatalf("the state is %s, want %s", got.State, test.want)
				}
				if test.want != inspect.StateFailed {
					continue
				}
				want := test.told
				want.State, want.Cause, want.Handlers = inspect.StateFailed, created, []inspect.HandlerState{idle("log"), failed}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestPastFailures_NewerStateOfSameProcessWins(t *testing.T) {
	ref := inspect.Ref{Name: "a"}
	var f pastFailures
	f.rotate()
	f.restoreInto(&inspect.Message{Objects: []inspect.Object{{Ref: ref, ResourceVersion: "8", State: inspect.StateFailed, Handlers: []inspect.HandlerState{{ID: "create", State: inspect.PhaseFailed}}}}})
	m := inspect.Message{Objects: []inspect.Object{{Ref: ref, ResourceVersion: "8", State: inspect.StateSettled, Handlers: []inspect.HandlerState{{ID: "create"}}}}}
	f.restoreInto(&m)
	if m.Objects[0].State != inspect.StateSettled {
		t.Error("the state is", m.Objects[0].State)
	}
	f.rotate()
	f.restoreInto(&m)
	if m.Objects[0].State != inspect.StateSettled {
		t.Error("after a restart, the state is", m.Objects[0].State)
	}
}

func TestPastFailures_DeletedObjectIsForgotten(t *testing.T) {
	ref := inspect.Ref{Name: "a"}
	var f pastFailures
	f.rotate()
	f.restoreInto(&inspect.Message{Objects: []inspect.Object{{Ref: ref, State: inspect.StateFailed}}})
	f.rotate()
	f.restoreInto(&inspect.Message{Gone: []inspect.Ref{ref}})
	if len(f.former)+len(f.current) > 0 {
		t.Errorf("remembered: %v", f)
	}
}

func TestPastFailures_ObjectDeletedBetweenProcessesIsForgotten(t *testing.T) {
	failed := func(name string) inspect.Object {
		return inspect.Object{Ref: inspect.Ref{Name: name}, ResourceVersion: "8", State: inspect.StateFailed, Handlers: []inspect.HandlerState{{ID: "create", State: inspect.PhaseFailed}}}
	}
	kept := inspect.Object{Ref: inspect.Ref{Name: "kept"}, ResourceVersion: "8", State: inspect.StateSettled, Handlers: []inspect.HandlerState{{ID: "create"}}}
	for _, test := range []struct {
		name     string
		operator []inspect.Operator // the states that the second process publishes
		want     int
	}{
		{"while listing", []inspect.Operator{{State: inspect.OperatorStarting, Settled: true}}, 2},
		{"while handling", []inspect.Operator{{State: inspect.OperatorRunning}}, 2},
		{"when settled", []inspect.Operator{{State: inspect.OperatorRunning}, {State: inspect.OperatorRunning, Settled: true}}, 1},
		{"when stopping", []inspect.Operator{{State: inspect.OperatorRunning, Settled: true}, {State: inspect.OperatorStopping}}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f pastFailures
			f.rotate()
			f.restoreInto(&inspect.Message{Objects: []inspect.Object{failed("kept"), failed("vanished")}})
			f.rotate()
			for _, operator := range test.operator {
				m := inspect.Message{Snapshot: &inspect.Snapshot{Operator: operator, Objects: []inspect.Object{kept}}}
				f.restoreInto(&m)
				f.observe(m.Snapshot)
			}
			f.rotate()
			if _, ok := f.former[kept.Ref]; !ok || len(f.former) != test.want {
				t.Errorf("remembered: %v", f.former)
			}
		})
	}
}
