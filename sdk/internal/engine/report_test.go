package engine

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestTheStateOfAnObjectIsTheFirstThatApplies(t *testing.T) {
	phases := func(phases ...inspect.HandlerPhase) []inspect.HandlerState {
		states := make([]inspect.HandlerState, len(phases))
		for i, phase := range phases {
			states[i].State = phase
		}
		return states
	}
	done := &inspect.Cause{Reason: "create", Done: time.Unix(1, 0)}
	undone := &inspect.Cause{Reason: "create"}
	for name, test := range map[string]struct {
		report *report
		want   inspect.ObjectState
	}{
		"a handler runs, whatever else": {&report{
			object:   inspect.Object{Cause: undone, Waiting: &inspect.Waiting{}},
			handlers: phases(inspect.PhaseRetrying, inspect.PhaseRunning),
		}, inspect.StateRunning},
		"it waits for its own version": {&report{
			object: inspect.Object{Cause: undone, Waiting: &inspect.Waiting{}}, handlers: phases(inspect.PhaseRetrying),
		}, inspect.StateWaiting},
		"a handler is to be tried again": {&report{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseDone, inspect.PhaseRetrying),
		}, inspect.StateRetrying},
		"a handler of the deletion is to be tried again": {&report{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseRetrying), finalize: true,
		}, inspect.StateRetrying},
		"the deletion goes on": {&report{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseNext), finalize: true,
		}, inspect.StateDeleting},
		"the next handler is about to run": {&report{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseDone, inspect.PhaseNext),
		}, inspect.StateRunning},
		"one has failed for good, whatever the others do": {&report{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseFailed, inspect.PhaseRetrying),
		}, inspect.StateFailed},
		"a daemon is all there is": {&report{handlers: []inspect.HandlerState{{Kind: "daemon", State: inspect.PhaseAlive}}}, inspect.StateSettled},
		"a handler has failed for good": {&report{
			object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseDone, inspect.PhaseFailed),
		}, inspect.StateFailed},
		"all is done but the finalizer": {&report{
			object: inspect.Object{Cause: done, Finalizer: true}, handlers: phases(inspect.PhaseDone), finalize: true,
		}, inspect.StateDeleting},
		"nobody cares":       {&report{}, inspect.StateIgnored},
		"all is done":        {&report{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseDone)}, inspect.StateSettled},
		"others hold it":     {&report{object: inspect.Object{Cause: done}, finalize: true}, inspect.StateSettled},
		"retries are over":   {&report{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseRetrying)}, inspect.StateSettled},
		"it is filtered out": {&report{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseFiltered)}, inspect.StateSettled},
	} {
		if got := test.report.state(); got != test.want {
			t.Errorf("%s: %s instead of %s", name, got, test.want)
		}
	}
}

func TestANewCauseBeginsWithoutTheFailuresOfTheLastOne(t *testing.T) {
	failed := inspect.HandlerState{ID: "a", Kind: "update", State: inspect.PhaseFailed, Attempt: 3, Attempts: make([]inspect.Attempt, 3)}
	event := inspect.HandlerState{ID: "e", Kind: "event", State: inspect.PhaseDone, Attempts: make([]inspect.Attempt, 1)}
	r := &report{
		object:   inspect.Object{Cause: &inspect.Cause{Reason: "update", Done: time.Unix(1, 0)}},
		handlers: []inspect.HandlerState{failed, event},
	}
	r.begin(&cycle{
		server: &server{operator: &operator{now: time.Now}},
		object: &object.Object{ResourceVersion: "2"},
		cause:  &handlers.Cause{Reason: handlers.ReasonUpdate},
	})
	if state := r.state(); state == inspect.StateFailed {
		t.Error("it looks like a failure")
	}
	if h := r.handlers[0]; h.Attempt != 0 || len(h.Attempts) != 0 {
		t.Errorf("the attempts of the last cause are told as those of this one: %+v", h)
	}
	if h := r.handlers[1]; len(h.Attempts) != 1 {
		t.Errorf("an event does not belong to the cause, but: %+v", h)
	}
	if past := r.object.History; len(past) != 1 || len(past[0].Failed) != 1 || len(past[0].Handlers) != 1 {
		t.Errorf("the history is %+v", past)
	}
}

func TestWithoutAnInspectorReportsDoNothing(t *testing.T) {
	var r *reporter
	m := &memory{}
	if r.reportOf(m, nil, nil) != nil || m.report.Load() != nil {
		t.Fatal("there is a report")
	}
	var none *report
	none.consistent()
	none.gone()
	none.waiting("1", "2", time.Time{})
	none.applied(true, time.Time{})
	r.listed("x")
	r.listing("x", "y")
	r.serves(nil, nil)
}
