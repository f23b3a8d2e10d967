package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestAFailureIsShownByTheNextOperatorUntilTheObjectChanges(t *testing.T) {
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
			var f failures
			f.renew()
			f.amend(&inspect.Message{Objects: []inspect.Object{left}})
			for range 2 { // operators
				f.renew()
				m := inspect.Message{Snapshot: &inspect.Snapshot{Objects: []inspect.Object{test.told}}}
				f.amend(&m)
				got := m.Snapshot.Objects[0]
				if got.State != test.want {
					t.Fatalf("it is %s, not %s", got.State, test.want)
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

func TestTheOperatorItselfKnowsBetterThanItDidBefore(t *testing.T) {
	ref := inspect.Ref{Name: "a"}
	var f failures
	f.renew()
	f.amend(&inspect.Message{Objects: []inspect.Object{{Ref: ref, ResourceVersion: "8", State: inspect.StateFailed, Handlers: []inspect.HandlerState{{ID: "create", State: inspect.PhaseFailed}}}}})
	m := inspect.Message{Objects: []inspect.Object{{Ref: ref, ResourceVersion: "8", State: inspect.StateSettled, Handlers: []inspect.HandlerState{{ID: "create"}}}}}
	f.amend(&m)
	if m.Objects[0].State != inspect.StateSettled {
		t.Error("it is still shown as", m.Objects[0].State)
	}
	f.renew()
	f.amend(&m)
	if m.Objects[0].State != inspect.StateSettled {
		t.Error("another operator shows it as", m.Objects[0].State)
	}
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	ref := inspect.Ref{Name: "a"}
	var f failures
	f.renew()
	f.amend(&inspect.Message{Objects: []inspect.Object{{Ref: ref, State: inspect.StateFailed}}})
	f.renew()
	f.amend(&inspect.Message{Gone: []inspect.Ref{ref}})
	if len(f.former)+len(f.current) > 0 {
		t.Errorf("remembered: %v", f)
	}
}

func TestWhatHasVanishedWhileNoOperatorRanIsForgotten(t *testing.T) {
	failed := func(name string) inspect.Object {
		return inspect.Object{Ref: inspect.Ref{Name: name}, ResourceVersion: "8", State: inspect.StateFailed, Handlers: []inspect.HandlerState{{ID: "create", State: inspect.PhaseFailed}}}
	}
	kept := inspect.Object{Ref: inspect.Ref{Name: "kept"}, ResourceVersion: "8", State: inspect.StateSettled, Handlers: []inspect.HandlerState{{ID: "create"}}}
	for _, test := range []struct {
		name     string
		operator []inspect.Operator // one after the other, as the second operator tells
		want     int
	}{
		{"while it still lists", []inspect.Operator{{State: inspect.OperatorStarting, Settled: true}}, 2},
		{"while it still handles", []inspect.Operator{{State: inspect.OperatorRunning}}, 2},
		{"once it is through", []inspect.Operator{{State: inspect.OperatorRunning}, {State: inspect.OperatorRunning, Settled: true}}, 1},
		{"and when it stops", []inspect.Operator{{State: inspect.OperatorRunning, Settled: true}, {State: inspect.OperatorStopping}}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f failures
			f.renew()
			f.amend(&inspect.Message{Objects: []inspect.Object{failed("kept"), failed("vanished")}})
			f.renew()
			for _, operator := range test.operator {
				m := inspect.Message{Snapshot: &inspect.Snapshot{Operator: operator, Objects: []inspect.Object{kept}}}
				f.amend(&m)
				f.saw(m.Snapshot)
			}
			f.renew()
			if _, ok := f.former[kept.Ref]; !ok || len(f.former) != test.want {
				t.Errorf("remembered: %v", f.former)
			}
		})
	}
}
